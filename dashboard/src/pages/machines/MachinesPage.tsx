import { Page } from '../../ui/Page.tsx'

export function MachinesPage() {
  return <Page title="Machines">{null}</Page>
}
