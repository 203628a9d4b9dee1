import { useSession } from '../../api/session.ts'
import { Facts } from '../../ui/Facts.tsx'
import { Page } from '../../ui/Page.tsx'
import { Section } from '../../ui/Section.tsx'
import { BrowserSessions } from './BrowserSessions.tsx'
import { ChangePassword } from './ChangePassword.tsx'
import { DeleteAccount } from './DeleteAccount.tsx'
import { ThemeChoice } from './ThemeChoice.tsx'

/** The signed-in person: their password, their browsers and the look of the pages. */
export function AccountPage() {
  const { user } = useSession()
  return (
    <Page title="Your account">
      <div className="max-w-3xl">
        {user && (
          <Section title="You">
            <Facts
              facts={[
                { label: 'Name', value: user.name },
                { label: 'Email', value: user.email },
                { label: 'User id', value: user.id },
              ]}
            />
          </Section>
        )}
        <Section title="Password" note="A new one signs out all your other browsers.">
          <ChangePassword email={user?.email ?? ''} name={user?.name ?? ''} />
        </Section>
        <Section
          title="Browsers"
          note="Where you are signed in. A session ends 30 days after its last use."
        >
          <BrowserSessions />
        </Section>
        <Section title="Theme" note="Of this browser.">
          <ThemeChoice />
        </Section>
        <Section
          title="Delete your account"
          note="Organizations that have no other member go with it. Machines that you made for others stay."
        >
          <DeleteAccount email={user?.email ?? ''} />
        </Section>
      </div>
    </Page>
  )
}
