import { Page } from '../../ui/Page.tsx'

export function MachineError() {
  return <Page title="Machine">{null}</Page>
}
