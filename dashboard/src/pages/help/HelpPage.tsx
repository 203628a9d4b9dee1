import type { HelpRequest } from '@computer/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { currentHelpQuery, earlierHelpQuery } from '../../api/help-requests.ts'
import { Empty } from '../../ui/Empty.tsx'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { Page } from '../../ui/Page.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { EarlierHelp } from './EarlierHelp.tsx'
import { HelpCard } from './HelpCard.tsx'

/** The help requests of agents: first those that wait or that somebody has, then those that have ended. */
export function HelpPage() {
  const current = useInfiniteQuery(currentHelpQuery)
  const earlier = useInfiniteQuery(earlierHelpQuery)
  return (
    <Page
      title="Help requests"
      description="An agent asks a person to do something on its machine, and goes on from there."
    >
      <QueryView query={current}>
        {({ pages }) => {
          const requests = pages.flatMap(({ data }) => data)
          if (requests.length > 0) return <Current requests={requests} />
          const isFirst = earlier.data?.pages[0]?.data.length === 0
          return isFirst ? <NoHelp /> : <p className="py-4 text-muted">Nobody waits for help.</p>
        }}
      </QueryView>
      <LoadMore query={current} />
      <QueryView query={earlier}>
        {({ pages }) => {
          const requests = pages.flatMap(({ data }) => data)
          return requests.length > 0 && <EarlierHelp requests={requests} />
        }}
      </QueryView>
      <LoadMore query={earlier} label="Load older" />
    </Page>
  )
}

function Current({ requests }: { readonly requests: readonly HelpRequest[] }) {
  return (
    <ul aria-label="Open requests" className="space-y-3">
      {requests.map((help) => (
        <HelpCard key={help.id} help={help} />
      ))}
    </ul>
  )
}

function NoHelp() {
  return (
    <Empty
      title="Nobody has asked for help"
      cli={`computer help-requests ask my-machine --reason login --message 'Sign in to the shop'`}
      sdk={`import { Computer } from '@computer/sdk'

const computer = new Computer()
const machine = await computer.machines.get('my-machine')
const { outcome } = await machine.askForHelp({ reason: 'login', message: 'Sign in, please' })`}
    >
      An agent that needs a person, for a sign-in, a captcha or a decision, asks here. Whoever takes
      the request over gets its screen, and the agent goes on when they hand it back.
    </Empty>
  )
}
