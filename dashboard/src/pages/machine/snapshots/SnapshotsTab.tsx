import { Page } from '../../../ui/Page.tsx'

export function SnapshotsTab() {
  return <Page title="Snapshots">{null}</Page>
}
