import { completeCheckout, endSubscription, markPaid } from './billing.ts'
import { find, type State } from './state.ts'

/** What a person sees and does on Stripe's own pages: a page, or where the browser goes next. */
export type PageAnswer = { readonly html: string } | { readonly location: string }

/** Answers a request for a page, or nothing if the path is none. */
export function answerPage(state: State, method: string, path: string): PageAnswer | undefined {
  const [, page, id = '', action] = path.split('/')
  switch (page) {
    case 'pay':
      return answerCheckout(state, id, method === 'POST' ? action : undefined)
    case 'portal':
      return answerPortal(state, id, method === 'POST' ? action : undefined)
    case 'invoice':
      return answerInvoice(state, id, method === 'POST' ? action : undefined)
    default:
      return undefined
  }
}

function answerCheckout(state: State, id: string, action: string | undefined): PageAnswer {
  const checkout = find(state.checkouts, 'checkout.session', id)
  const { session } = checkout
  if (session.status !== 'open') return show('This page is no longer valid', '')
  const price = find(state.prices, 'price', checkout.priceId)
  const product = find(state.products, 'product', price.product as string)
  const customer = session.customer as string
  if (action === 'pay') {
    state.cards.set(customer, 'good')
    completeCheckout(state, checkout)
    return { location: session.success_url! }
  }
  const notice = action === 'decline' ? '<p role="alert">Your card was declined.</p>' : ''
  const cents = price.unit_amount!
  return show(
    `Subscribe to ${product.name}`,
    `${notice}<p>${(cents / 100).toFixed(2)} ${price.currency} a month</p>
    ${button(`/pay/${id}/pay`, 'Pay')} ${button(`/pay/${id}/decline`, 'Pay with a card that is declined')}
    ${session.cancel_url === null ? '' : `<a href="${escape(session.cancel_url)}">Back</a>`}`,
  )
}

function answerPortal(state: State, id: string, action: string | undefined): PageAnswer {
  const { customer, returnUrl } = find(state.portals, 'portal', id)
  const subscription = [...state.subscriptions.values()].find(
    (one) => one.customer === customer && one.status !== 'canceled',
  )
  if (subscription && (action === 'cancel' || action === 'resume')) {
    subscription.cancel_at_period_end = action === 'cancel'
    subscription.canceled_at = action === 'cancel' ? state.now() : null
    state.emit('customer.subscription.updated', subscription)
  }
  if (subscription && action === 'end') endSubscription(state, subscription)
  const isEnding = subscription?.cancel_at_period_end
  return show(
    'Your subscription',
    `${
      subscription
        ? isEnding
          ? `<p>It ends with the month.</p>${button(`/portal/${id}/resume`, 'Keep the subscription')}`
          : button(`/portal/${id}/cancel`, 'Cancel the subscription')
        : '<p>There is none.</p>'
    } ${returnUrl === null ? '' : `<a href="${escape(returnUrl)}">Back</a>`}`,
  )
}

function answerInvoice(state: State, id: string, action: string | undefined): PageAnswer {
  const invoice = find(state.invoices, 'invoice', id)
  if (action === 'pay' && invoice.status === 'open') markPaid(state, invoice)
  return show(
    `Invoice ${invoice.number}`,
    invoice.status === 'paid' ? '<p>Paid.</p>' : button(`/invoice/${id}/pay`, 'Confirm and pay'),
  )
}

function show(title: string, content: string): PageAnswer {
  const icon = '<link rel="icon" href="data:,">'
  return {
    html: `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escape(title)}</title>${icon}</head><body><h1>${escape(title)}</h1>${content}</body></html>`,
  }
}

function button(action: string, label: string): string {
  return `<form method="post" action="${action}"><button>${label}</button></form>`
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
