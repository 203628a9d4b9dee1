import { Page } from '../../../ui/Page.tsx'

export function EventsTab() {
  return <Page title="Events">{null}</Page>
}
