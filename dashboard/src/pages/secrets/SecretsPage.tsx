import { Page } from '../../ui/Page.tsx'

export function SecretsPage() {
  return <Page title="Secrets">{null}</Page>
}
