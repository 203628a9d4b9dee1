import { Page } from '../../../ui/Page.tsx'

export function TerminalTab() {
  return <Page title="Terminal">{null}</Page>
}
