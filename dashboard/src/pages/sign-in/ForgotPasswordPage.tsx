import { Page } from '../../ui/Page.tsx'

export function ForgotPasswordPage() {
  return <Page title="ForgotPassword">{null}</Page>
}
