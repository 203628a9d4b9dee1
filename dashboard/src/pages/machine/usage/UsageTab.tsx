import { Page } from '../../../ui/Page.tsx'

export function UsageTab() {
  return <Page title="Usage">{null}</Page>
}
