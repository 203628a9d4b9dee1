import type Stripe from 'stripe'
import { finalize } from './billing.ts'
import { paginate, type FakeEndpoint } from './endpoint.ts'
import { makeInvoice, makeInvoiceItem } from './invoice-objects.ts'
import { page, parameters, refused } from './parameters.ts'
import { find } from './state.ts'

export const invoiceEndpoints: readonly FakeEndpoint[] = [
  {
    method: 'POST',
    path: '/v1/invoices',
    parameters: parameters<Stripe.InvoiceCreateParams>(
      {
        customer: 'string',
        currency: 'string',
        collection_method: { oneOf: ['charge_automatically', 'send_invoice'] },
        auto_advance: 'boolean',
        pending_invoice_items_behavior: { oneOf: ['exclude', 'include'] },
        description: 'string',
        metadata: 'metadata',
      },
      ['customer'],
    ),
    handle(state, { customer, currency = 'usd', ...values }) {
      find(state.customers, 'customer', customer)
      const invoice = makeInvoice(state.newId('in'), state.now(), {
        customer,
        currency,
        reason: 'manual',
        metadata: values['metadata'] ?? {},
        description: values['description'] ?? null,
        autoAdvance: values['auto_advance'] ?? false,
      })
      state.invoices.set(invoice.id, invoice)
      return invoice
    },
  },
  {
    method: 'GET',
    path: '/v1/invoices',
    parameters: parameters<Stripe.InvoiceListParams>({
      ...page,
      customer: 'string',
      status: { oneOf: ['draft', 'open', 'paid', 'uncollectible', 'void'] },
      created: { object: { gte: 'integer' } },
    }),
    handle(state, values) {
      const { customer, status, created } = values
      if (customer !== undefined) find(state.customers, 'customer', customer)
      const found = [...state.invoices.values()].filter(
        (invoice) =>
          (customer === undefined || invoice.customer === customer) &&
          (status === undefined || invoice.status === status) &&
          (created === undefined || invoice.created >= created.gte),
      )
      return paginate(found, values, '/v1/invoices')
    },
  },
  {
    method: 'GET',
    path: '/v1/invoices/*',
    parameters: parameters<Stripe.InvoiceRetrieveParams>({}),
    handle: (state, _values, id) => find(state.invoices, 'invoice', id),
  },
  {
    method: 'POST',
    path: '/v1/invoices/*/finalize',
    parameters: parameters<Stripe.InvoiceFinalizeInvoiceParams>({ auto_advance: 'boolean' }),
    handle(state, values, id) {
      const invoice = find(state.invoices, 'invoice', id)
      if (invoice.status !== 'draft') {
        throw refused('This invoice is already finalized, you cannot re-finalize it.')
      }
      invoice.auto_advance = values['auto_advance'] ?? false
      finalize(state, invoice)
      return invoice
    },
  },
  {
    method: 'POST',
    path: '/v1/invoiceitems',
    parameters: parameters<Stripe.InvoiceItemCreateParams>(
      {
        customer: 'string',
        invoice: 'string',
        amount: 'integer',
        currency: 'string',
        description: 'string',
        period: { object: { start: 'integer', end: 'integer' }, required: ['start', 'end'] },
        metadata: 'metadata',
      },
      ['customer', 'amount', 'currency', 'invoice'],
    ),
    handle(state, { customer, invoice: invoiceId, amount, currency, ...values }) {
      const invoice = find(state.invoices, 'invoice', invoiceId)
      if (invoice.status !== 'draft') throw refused('The invoice is not a draft.')
      if (invoice.customer !== customer || invoice.currency !== currency) {
        throw refused('The invoice has another customer or currency.')
      }
      const item = makeInvoiceItem(state.newId('ii'), state.now(), {
        customer,
        invoice: invoiceId,
        amount,
        currency,
        description: values['description'] ?? null,
        period: values['period'] ?? { start: state.now(), end: state.now() },
        metadata: values['metadata'] ?? {},
      })
      state.invoiceItems.set(item.id, item)
      return item
    },
  },
  {
    method: 'GET',
    path: '/v1/invoiceitems',
    parameters: parameters<Stripe.InvoiceItemListParams>({ ...page, invoice: 'string' }),
    handle(state, values) {
      const found = [...state.invoiceItems.values()].filter(
        ({ invoice }) => values['invoice'] === undefined || invoice === values['invoice'],
      )
      return paginate(found, values, '/v1/invoiceitems')
    },
  },
]
