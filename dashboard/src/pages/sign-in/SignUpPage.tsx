import { Page } from '../../ui/Page.tsx'

export function SignUpPage() {
  return <Page title="SignUp">{null}</Page>
}
