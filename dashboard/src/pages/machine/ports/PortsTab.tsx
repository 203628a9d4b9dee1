import { Page } from '../../../ui/Page.tsx'

export function PortsTab() {
  return <Page title="Ports">{null}</Page>
}
