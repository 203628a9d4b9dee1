import { useQuery } from '@tanstack/react-query'
import { accountQuery } from '../../api/billing.ts'
import { Page } from '../../ui/Page.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Account } from './Account.tsx'
import { Budgets } from './budgets/Budgets.tsx'
import { Chosen } from './Chosen.tsx'
import { Limits } from './Limits.tsx'
import { Period } from './Period.tsx'
import { Plans } from './Plans.tsx'

/** The server hears of what a person does on the provider's pages a moment after the browser is back here. */
const pollMs = 3_000

/** The plan of the organization, its limits, what a period costs, and the plans to choose from. */
export function BillingPage() {
  const query = useQuery({ ...accountQuery, refetchInterval: pollMs })
  return (
    <Page title="Billing" description="The plan of the organization, and what its use comes to.">
      <QueryView query={query}>
        {(account) => (
          <div className="space-y-8">
            <Chosen account={account} />
            <Account account={account} />
            <Limits account={account} />
            <Period />
            <Budgets />
            <Plans account={account} />
          </div>
        )}
      </QueryView>
    </Page>
  )
}
