import { Page } from '../../ui/Page.tsx'

export function PortsPage() {
  return <Page title="Ports">{null}</Page>
}
