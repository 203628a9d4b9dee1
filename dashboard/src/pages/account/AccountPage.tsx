import { Page } from '../../ui/Page.tsx'

export function AccountPage() {
  return <Page title="Account">{null}</Page>
}
