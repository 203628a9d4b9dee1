import { useLocation } from '@tanstack/react-router'

/** Leads to the sign-in, and back to this page. */
export function SignInAgain() {
  const { href } = useLocation()
  return (
    <a href={`/login?next=${encodeURIComponent(href)}`} className="font-medium underline">
      Sign in
    </a>
  )
}
