import { Page } from '../../ui/Page.tsx'

export function MembersPage() {
  return <Page title="Members">{null}</Page>
}
