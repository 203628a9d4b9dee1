import { Page } from '../../ui/Page.tsx'

export function BillingPage() {
  return <Page title="Billing">{null}</Page>
}
