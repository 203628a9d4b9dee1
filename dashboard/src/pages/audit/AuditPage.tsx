import { Page } from '../../ui/Page.tsx'

export function AuditPage() {
  return <Page title="Audit log">{null}</Page>
}
