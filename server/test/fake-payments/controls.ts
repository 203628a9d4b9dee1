import { renew } from './billing.ts'
import type { FakeStripe } from './stripe.ts'
import { find, type Card } from './state.ts'

/** What people do on Stripe's pages, and what happens in Stripe by itself. */
export function payments({
  url,
  state,
  forgetKeys,
}: Pick<FakeStripe, 'url' | 'state' | 'forgetKeys'>) {
  const press = async (page: string, action: string) => {
    const answer = await fetch(`${page}/${action}`, { method: 'POST', redirect: 'manual' })
    if (answer.status >= 400) throw new Error(`${page} answered ${answer.status}`)
  }
  const invoicesOf = (customer: string) =>
    [...state.invoices.values()].filter((invoice) => invoice.customer === customer)
  const linesOf = (id: string) =>
    [...state.invoiceItems.values()]
      .filter(({ invoice }) => invoice === id)
      .map(({ metadata, amount }) => [metadata?.['line'] ?? '', amount] as const)
  return {
    url,
    forgetKeys,
    pay: (page: string) => press(page, 'pay'),
    confirm: (page: string) => press(page, 'pay'),
    cancelInPortal: (page: string) => press(page, 'cancel'),
    endInPortal: (page: string) => press(page, 'end'),
    setCard(customer: string, card: Card) {
      state.cards.set(find(state.customers, 'customer', customer).id, card)
    },
    renew(customer: string) {
      for (const subscription of state.subscriptions.values()) {
        const isLive = subscription.status !== 'canceled'
        if (subscription.customer === customer && isLive) renew(state, subscription)
      }
    },
    /** Of periods alone. A line that is there twice is an error. */
    invoices: (customer: string) =>
      invoicesOf(customer)
        .filter(({ metadata }) => metadata?.['period_id'] !== undefined)
        .map(({ id, status }) => {
          const lines = linesOf(id)
          if (new Set(lines.map(([key]) => key)).size < lines.length) {
            throw new Error(`invoice ${id} has a line twice`)
          }
          return { id, status: status!, lines: Object.fromEntries(lines) }
        }),
    /** What was charged for subscriptions. */
    charges: (customer: string) =>
      invoicesOf(customer)
        .filter(({ billing_reason: reason }) => reason !== 'manual')
        .map(({ total }) => total),
    restOfMonth() {
      const now = new Date(state.now() * 1000)
      const [start, end] = [0, 1].map((months) =>
        Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1),
      )
      return (end! - now.getTime()) / (end! - start!)
    },
  }
}
