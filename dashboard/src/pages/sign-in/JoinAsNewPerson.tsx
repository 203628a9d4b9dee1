import { ApiError, type InvitationLookup } from '@computer/sdk'
import { Link } from '@tanstack/react-router'
import { signUp } from '../../api/auth.ts'
import { AccountForm } from './AccountForm.tsx'
import { linkLook } from './SignInLayout.tsx'

/** Nobody is signed in: a new account joins at once; the owner of an account signs in and comes back. */
export function JoinAsNewPerson({
  token,
  invitation: { email },
}: {
  readonly token: string
  readonly invitation: InvitationLookup
}) {
  const signIn = (
    <Link to="/login" search={{ next: '/accept-invitation' }} className={linkLook}>
      Sign in and come back
    </Link>
  )
  return (
    <>
      <p>Have an account already? {signIn}.</p>
      <h2 className="border-t border-line pt-4 font-medium">Otherwise create your account</h2>
      <AccountForm
        action="Create account and join"
        email={email}
        onSubmit={(account) => signUp({ ...account, invitationToken: token }, '/')}
        nextStep={(error) => error instanceof ApiError && error.code === 'conflict' && signIn}
      />
    </>
  )
}
