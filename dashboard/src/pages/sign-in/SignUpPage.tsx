import { ApiError } from '@computer/sdk'
import { Link, useSearch } from '@tanstack/react-router'
import { signUp } from '../../api/auth.ts'
import { AccountForm } from './AccountForm.tsx'
import { nextPath } from './next-path.ts'
import { SignedOutOnly } from './SignedOutOnly.tsx'
import { linkLook, SignInLayout } from './SignInLayout.tsx'

export function SignUpPage() {
  const { next } = useSearch({ from: '/signup' })
  const search = next === undefined ? {} : { next }
  const login = (text: string) => (
    <Link to="/login" search={search} className={linkLook}>
      {text}
    </Link>
  )
  return (
    <SignedOutOnly path={nextPath(next)}>
      <SignInLayout
        title="Create your account"
        description="It comes with an organization of your own."
        footer={<>Already have an account? {login('Sign in')}</>}
      >
        <AccountForm
          action="Create account"
          onSubmit={(account) => signUp(account, nextPath(next))}
          nextStep={(error) => {
            if (!(error instanceof ApiError)) return null
            if (error.code === 'conflict') return login('Sign in')
            if (error.code !== 'permission_denied') return null
            return <p>With an account, {login('sign in')}.</p>
          }}
        />
      </SignInLayout>
    </SignedOutOnly>
  )
}
