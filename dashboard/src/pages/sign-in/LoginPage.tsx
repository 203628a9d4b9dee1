import { ApiError } from '@computer/sdk'
import { Link, useSearch } from '@tanstack/react-router'
import { signIn } from '../../api/auth.ts'
import { Button } from '../../ui/Button.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { useForm } from '../../ui/use-form.ts'
import { EmailField } from './EmailField.tsx'
import { nextPath } from './next-path.ts'
import { SignedOutOnly } from './SignedOutOnly.tsx'
import { linkLook, SignInLayout } from './SignInLayout.tsx'

export function LoginPage() {
  const { next } = useSearch({ from: '/login' })
  return (
    <SignedOutOnly path={nextPath(next)}>
      <SignInLayout
        title="Sign in"
        footer={
          <>
            No account yet?{' '}
            <Link to="/signup" search={next === undefined ? {} : { next }} className={linkLook}>
              Sign up
            </Link>
          </>
        }
      >
        <LoginForm path={nextPath(next)} />
      </SignInLayout>
    </SignedOutOnly>
  )
}

function LoginForm({ path }: { readonly path: string }) {
  const form = useForm(['email', 'password'], (values) =>
    signIn({ email: String(values.get('email')), password: String(values.get('password')) }, path),
  )
  return (
    <form onSubmit={form.submit} className="space-y-4">
      <EmailField error={form.errorOf('email')} autoFocus />
      <PasswordField
        label="Password"
        name="password"
        autoComplete="current-password"
        required
        error={form.errorOf('password')}
      />
      {form.error !== undefined && (
        <ErrorNotice error={form.error}>
          <NextStep error={form.error} />
        </ErrorNotice>
      )}
      <Button type="submit" look="primary" busy={form.isBusy} className="w-full">
        Sign in
      </Button>
      <p className="text-center">
        <Link to="/forgot-password" className={linkLook}>
          Forgotten your password?
        </Link>
      </p>
    </form>
  )
}

/** The server's message of a rate limit says when to try again. */
function NextStep({ error }: { readonly error: unknown }) {
  if (!(error instanceof ApiError) || error.code !== 'unauthenticated') return null
  return (
    <p>
      Try again, or{' '}
      <Link to="/forgot-password" className={linkLook}>
        set a new password
      </Link>
      .
    </p>
  )
}
