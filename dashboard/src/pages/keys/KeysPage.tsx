import { Page } from '../../ui/Page.tsx'

export function KeysPage() {
  return <Page title="API keys">{null}</Page>
}
