import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { polledAccountQuery } from '../../api/billing.ts'
import { Page } from '../../ui/Page.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Account } from './Account.tsx'
import { Budgets } from './budgets/Budgets.tsx'
import { Chosen } from './Chosen.tsx'
import { Limits } from './Limits.tsx'
import { Period } from './Period.tsx'
import { Plans } from './Plans.tsx'

/** The plan of the organization, its limits, what a period costs, and the plans to choose from. */
export function BillingPage() {
  const { chosen } = useSearch({ from: '/app/billing' })
  const query = useQuery(polledAccountQuery(chosen))
  return (
    <Page title="Billing" description="The plan of the organization, and what its use comes to.">
      <QueryView query={query}>
        {(account) => (
          <div className="space-y-8">
            {chosen !== undefined && <Chosen account={account} planId={chosen} />}
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
