import { ApiError, type InvitationLookup } from '@computer/sdk'
import { Link } from '@tanstack/react-router'
import { acceptInvitation } from '../../api/invitations.ts'
import { signOut } from '../../api/auth.ts'
import { Button } from '../../ui/Button.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { useForm } from '../../ui/use-form.ts'
import { EmailText } from './EmailText.tsx'
import type { User } from './LinkView.tsx'
import { linkLook } from './SignInLayout.tsx'

/** The invited person is signed in: one button. */
export function JoinAsUser({
  token,
  invitation: { organization },
  user,
}: {
  readonly token: string
  readonly invitation: InvitationLookup
  readonly user: User
}) {
  const form = useForm([], () => acceptInvitation(token))
  return (
    <form onSubmit={form.submit} className="space-y-4">
      <p className="break-words">
        You are signed in as <bdi className="font-medium">{user.name}</bdi>.
      </p>
      {form.error !== undefined && (
        <ErrorNotice error={form.error}>
          {form.error instanceof ApiError && form.error.code === 'conflict' && (
            <Link to="/" className={linkLook}>
              Go to your machines
            </Link>
          )}
        </ErrorNotice>
      )}
      <Button type="submit" look="primary" busy={form.isBusy} className="w-full">
        <bdi className="truncate">Join {organization.name}</bdi>
      </Button>
    </form>
  )
}

/** Somebody else is signed in. The link stays known to this tab, so the way leads back here. */
export function WrongAccount({
  invitation: { email },
  user,
}: {
  readonly invitation: InvitationLookup
  readonly user: User
}) {
  const form = useForm([], () => signOut('/accept-invitation'))
  return (
    <form onSubmit={form.submit} className="space-y-4">
      <p className="break-words">
        You are signed in as <EmailText email={user.email} />. Only the account of{' '}
        <EmailText email={email} /> can accept this invitation.
      </p>
      {form.error !== undefined && (
        <ErrorNotice error={form.error} title="You are still signed in." />
      )}
      <Button type="submit" look="primary" busy={form.isBusy} className="w-full">
        Sign out and return
      </Button>
      <p className="text-center">
        <Link to="/" className={linkLook}>
          Stay signed in
        </Link>
      </p>
    </form>
  )
}
