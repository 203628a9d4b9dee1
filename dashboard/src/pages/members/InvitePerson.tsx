import type { CreatedInvitation, Role } from '@computer/sdk'
import { useState } from 'react'
import { limits, roles } from '@computer/sdk/tables'
import { invite } from '../../api/invitations.ts'
import { useSession } from '../../api/session.ts'
import { formatDay } from '../../format.ts'
import { Button } from '../../ui/Button.tsx'
import { Code } from '../../ui/Code.tsx'
import { Dialog, DialogButtons } from '../../ui/Dialog.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { TextField } from '../../ui/Field.tsx'
import { RadioCards } from '../../ui/RadioCards.tsx'
import { useForm } from '../../ui/use-form.ts'
import { describeRole, roleWords, withArticle } from './roles.ts'

/** The roles from the least to the most. */
const choices = roles
  .toReversed()
  .map((role) => ({ value: role, label: roleWords[role], detail: describeRole(role) }))

/** Invites a person, and shows the link of the invitation once. */
export function InvitePerson({ onClose }: { readonly onClose: () => void }) {
  const { organization } = useSession()
  const [created, setCreated] = useState<CreatedInvitation>()
  // One dialog for both, so that the focus returns to the button that opened it.
  return created ? (
    <Dialog
      open
      sticky
      onOpenChange={onClose}
      title="The invitation is made"
      description={<Outcome invitation={created} />}
    >
      <InvitationLink acceptUrl={created.acceptUrl} onClose={onClose} />
    </Dialog>
  ) : (
    <Dialog
      open
      onOpenChange={onClose}
      title={`Invite to ${organization.name}`}
      description="The invitation is valid for 7 days, and only for the account of this email."
    >
      <InviteForm onCreated={setCreated} onClose={onClose} />
    </Dialog>
  )
}

function InviteForm({
  onCreated,
  onClose,
}: {
  readonly onCreated: (invitation: CreatedInvitation) => void
  readonly onClose: () => void
}) {
  const [role, setRole] = useState<Role>('member')
  const form = useForm(['email', 'role'], async (values) => {
    onCreated(await invite(String(values.get('email')), role))
  })
  return (
    <form onSubmit={form.submit} className="space-y-4">
      <TextField
        label="Email"
        name="email"
        type="email"
        required
        maxLength={limits.email.maxLength}
        error={form.errorOf('email')}
        autoComplete="off"
        autoFocus
      />
      <RadioCards
        label="Role"
        name="role"
        value={role}
        onChange={setRole}
        choices={choices}
        error={form.errorOf('role')}
      />
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" busy={form.isBusy}>
          Invite
        </Button>
      </DialogButtons>
    </form>
  )
}

function Outcome({
  invitation: { email, role, expiresAt },
}: {
  readonly invitation: CreatedInvitation
}) {
  return (
    <>
      <bdi className="font-medium break-all text-fg">{email}</bdi> can join as {withArticle(role)}{' '}
      until {formatDay(expiresAt)}.
    </>
  )
}

/** No answer of the server tells whether it sends mail, so the link is always shown. */
function InvitationLink({
  acceptUrl,
  onClose,
}: {
  readonly acceptUrl: string
  readonly onClose: () => void
}) {
  return (
    <div className="space-y-3">
      <p>
        If this server sends mail, the link is on its way. Otherwise pass it on yourself: it is
        shown only now.
      </p>
      <Code text={acceptUrl} label="link of the invitation" />
      <DialogButtons>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogButtons>
    </div>
  )
}
