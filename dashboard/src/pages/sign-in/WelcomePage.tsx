import { Page } from '../../ui/Page.tsx'

export function WelcomePage() {
  return <Page title="Welcome">{null}</Page>
}
