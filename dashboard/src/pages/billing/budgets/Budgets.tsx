import type { Budget } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { budgetsQuery, deleteBudget } from '../../../api/budgets.ts'
import { useDenial } from '../../../api/session.ts'
import { Button } from '../../../ui/Button.tsx'
import { Confirm } from '../../../ui/Confirm.tsx'
import { Pencil, Plus, Trash2 } from '../../../ui/icons.ts'
import { Meter } from '../../../ui/Meter.tsx'
import { QueryView } from '../../../ui/QueryView.tsx'
import { Part } from '../Part.tsx'
import { EditBudget, NewBudget } from './BudgetDialogs.tsx'
import { actionWords, describeEnd, describeUse, windowWords } from './budget-words.ts'
import { ScopeName } from './ScopeName.tsx'

/** The budgets of the organization, with what is used of each. */
export function Budgets() {
  const query = useQuery(budgetsQuery)
  const denied = useDenial('billing:manage')
  const [isCreating, setCreating] = useState(false)
  return (
    <Part
      title="Budgets"
      aside={
        <Button
          icon={<Plus aria-hidden />}
          disabledReason={denied}
          onClick={() => setCreating(true)}
        >
          New budget
        </Button>
      }
    >
      <QueryView query={query}>
        {(budgets) =>
          budgets.length === 0 ? (
            <p className="text-muted">
              A budget limits what the organization, an API key, a machine or a label uses. At its
              end it sends a mail, refuses starts, or stops machines.
            </p>
          ) : (
            <BudgetList budgets={budgets} />
          )
        }
      </QueryView>
      {isCreating && <NewBudget onClose={() => setCreating(false)} />}
    </Part>
  )
}

function BudgetList({ budgets }: { readonly budgets: readonly Budget[] }) {
  const [asked, setAsked] = useState<{ what: 'edit' | 'delete'; budget: Budget }>()
  const close = () => setAsked(undefined)
  return (
    <>
      <ul aria-label="Budgets" className="grid gap-3 lg:grid-cols-2">
        {budgets.map((budget) => (
          <BudgetItem
            key={budget.id}
            budget={budget}
            onEdit={() => setAsked({ what: 'edit', budget })}
            onDelete={() => setAsked({ what: 'delete', budget })}
          />
        ))}
      </ul>
      {asked?.what === 'edit' && <EditBudget budget={asked.budget} onClose={close} />}
      {asked?.what === 'delete' && (
        <Confirm
          open
          onOpenChange={close}
          title={`Delete the budget “${asked.budget.name}”`}
          action="Delete"
          onConfirm={() => deleteBudget(asked.budget.id)}
        >
          <p>Nothing limits what it counted any more. Machines that it stopped stay stopped.</p>
        </Confirm>
      )}
    </>
  )
}

function BudgetItem({
  budget,
  onEdit,
  onDelete,
}: {
  readonly budget: Budget
  readonly onEdit: () => void
  readonly onDelete: () => void
}) {
  const { name, scope, limit, used, window, action } = budget
  const denied = useDenial('billing:manage')
  return (
    <li className="space-y-2">
      <Meter
        label={name}
        used={Number(used)}
        of={Number(limit.value)}
        text={describeUse(budget)}
        note={describeEnd(budget)}
      />
      <div className="flex flex-wrap items-center justify-between gap-2 px-1 text-[13px] text-muted">
        <span className="min-w-0">
          <ScopeName scope={scope} /> · {windowWords[window]} · {actionWords[action]}
        </span>
        <span className="whitespace-nowrap">
          <Button
            look="ghost"
            size="small"
            label={`Edit the budget ${name}`}
            icon={<Pencil aria-hidden />}
            disabledReason={denied}
            onClick={onEdit}
          />
          <Button
            look="ghost"
            size="small"
            label={`Delete the budget ${name}`}
            icon={<Trash2 aria-hidden />}
            disabledReason={denied}
            onClick={onDelete}
          />
        </span>
      </div>
    </li>
  )
}
