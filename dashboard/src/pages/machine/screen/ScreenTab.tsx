import { Page } from '../../../ui/Page.tsx'

export function ScreenTab() {
  return <Page title="Screen">{null}</Page>
}
