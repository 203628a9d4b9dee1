import { useState } from 'react'
import { useSession } from '../../api/session.ts'
import { Button } from '../../ui/Button.tsx'
import { Facts } from '../../ui/Facts.tsx'
import { Trash2 } from '../../ui/icons.ts'
import { Page } from '../../ui/Page.tsx'
import { Section } from '../../ui/Section.tsx'
import { DeleteOrganization } from './DeleteOrganization.tsx'
import { LeaveOrganization } from './LeaveOrganization.tsx'
import { RenameOrganization } from './RenameOrganization.tsx'

/** The organization: its name, its ids, and how to leave or end it. */
export function SettingsPage() {
  const { organization, gatewayUrl } = useSession()
  const [asked, setAsked] = useState<'leave' | 'delete'>()
  const close = () => setAsked(undefined)
  return (
    <Page title="Settings" description={`Of the organization ${organization.name}.`}>
      <div className="max-w-3xl">
        <Section title="Name">
          <RenameOrganization key={organization.name} />
        </Section>
        <Section title="For programs">
          <Facts
            facts={[
              { label: 'Organization id', value: organization.id },
              { label: 'API', value: location.origin },
              { label: 'Gateway', value: gatewayUrl },
            ]}
          />
        </Section>
        <Section
          title="Leave"
          note="You lose access. Your machines and other things stay with the organization."
        >
          <Button onClick={() => setAsked('leave')}>Leave the organization</Button>
        </Section>
        <Section
          title="Delete"
          note="Its members, API keys and invitations end with it. Delete its machines, snapshots and templates first."
        >
          <Button
            icon={<Trash2 aria-hidden />}
            className="text-bad"
            onClick={() => setAsked('delete')}
          >
            Delete the organization
          </Button>
        </Section>
      </div>
      {asked === 'leave' && <LeaveOrganization onClose={close} />}
      {asked === 'delete' && <DeleteOrganization onClose={close} />}
    </Page>
  )
}
