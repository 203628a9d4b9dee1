import { Page } from '../../ui/Page.tsx'

export function MachinePage() {
  return <Page title="Machine">{null}</Page>
}
