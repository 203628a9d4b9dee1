import { Page } from '../../../ui/Page.tsx'

export function SecretsTab() {
  return <Page title="Secrets">{null}</Page>
}
