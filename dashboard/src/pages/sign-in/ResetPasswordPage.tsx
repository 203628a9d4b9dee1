import { Page } from '../../ui/Page.tsx'

export function ResetPasswordPage() {
  return <Page title="ResetPassword">{null}</Page>
}
