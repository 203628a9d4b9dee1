import { Page } from '../../../ui/Page.tsx'

export function FilesTab() {
  return <Page title="Files">{null}</Page>
}
