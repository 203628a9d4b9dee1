import { Page } from '../../ui/Page.tsx'

export function SnapshotsPage() {
  return <Page title="Snapshots">{null}</Page>
}
