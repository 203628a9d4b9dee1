import { Page } from '../../ui/Page.tsx'

export function AcceptInvitationPage() {
  return <Page title="AcceptInvitation">{null}</Page>
}
