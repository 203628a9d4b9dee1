import { Page } from '../../../ui/Page.tsx'

export function SettingsTab() {
  return <Page title="Settings">{null}</Page>
}
