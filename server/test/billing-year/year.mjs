/*
 * Bills a year from its story, without any code of the project. It reads what happened as JSON, and prints
 * the periods that follow. It goes through the year from one moment to the next in which anything changes,
 * and adds what exists between them, so it knows neither intervals nor windows.
 */

const chunks = []
for await (const chunk of process.stdin) chunks.push(chunk)
const { catalogs, account, machines: happenings, over } = JSON.parse(Buffer.concat(chunks))

const hour = 3_600_000
const gib = 1024n ** 3n
const ms = (text) => Date.parse(text)
const byTime = (a, b) => ms(a.at) - ms(b.at)

const periods = findPeriods([...account].sort(byTime), ms(over))
addUsage([...happenings].sort(byTime))
console.log(JSON.stringify(periods.map(bill)))

/** Which plan, terms and catalog apply when. */
function findPeriods(story, end) {
  const found = []
  let now = null
  let waiting = null
  for (const { at: text, ...happening } of story) {
    const at = ms(text)
    if (happening.what === 'founded') {
      now = begin(at - (at % hour), happening.plan, {})
      now.isFirst = true
      continue
    }
    while (nextMonth(now.start) <= at) turnMonth()
    if (happening.what === 'corrected') now.corrections.push(happening.cents)
    if (happening.what === 'plan chosen') choose(at, happening)
  }
  while (nextMonth(now.start) <= end) turnMonth()
  return found

  function choose(at, { plan, terms, at_once: isAtOnce }) {
    waiting = null
    const latest = catalogs.filter((catalog) => ms(catalog.effective_at) <= at).at(-1)
    const rank = (id) => latest.plans.findIndex((one) => one.id === id)
    if (!isAtOnce && rank(plan) < rank(now.plan)) waiting = { plan, terms }
    else if (plan !== now.plan || text(terms) !== text(now.terms)) {
      const start = at - (at % hour)
      if (now.start === start) Object.assign(now, { plan, terms })
      else {
        found.push({ ...now, end: start })
        now = begin(start, plan, terms)
      }
    }
  }

  function turnMonth() {
    const start = nextMonth(now.start)
    const { plan, terms } = waiting ?? now
    waiting = null
    found.push({ ...now, end: start })
    now = begin(start, plan, terms)
  }
}

function begin(start, plan, terms) {
  return { start, plan, terms, isFirst: false, corrections: [], used: new Map() }
}

function text(terms) {
  return JSON.stringify(Object.entries(terms).sort())
}

function nextMonth(time) {
  const date = new Date(time)
  date.setUTCDate(1)
  date.setUTCHours(0, 0, 0, 0)
  date.setUTCMonth(date.getUTCMonth() + 1)
  return date.getTime()
}

/** A second counts if what is counted exists in its first moment. */
function addUsage(story) {
  const machines = new Map()
  const copies = new Map()
  let second = BigInt(periods[0].start / 1000)
  let index = 0
  for (const happening of story) {
    const at = ms(happening.at)
    passUntil(at)
    if (happening.what === 'served') {
      const period = periods.find(({ start, end }) => start <= at && at < end)
      add(period, 'egress_bytes', BigInt(happening.bytes))
    } else happen(happening, at)
  }
  passUntil(ms(over))

  function passUntil(at) {
    for (;;) {
      const end = Math.min(at, periods[index].end)
      const next = BigInt(Math.ceil(end / 1000))
      countSeconds(periods[index], next - second)
      second = next
      if (end === at || index === periods.length - 1) return
      index += 1
    }
  }

  function countSeconds(period, seconds) {
    if (seconds <= 0n) return
    for (const { size, runs, hasDisk, diskGb } of machines.values()) {
      if (runs) add(period, `compute_${size}_seconds`, seconds)
      if (hasDisk) add(period, 'hot_storage_byte_seconds', seconds * diskGb * gib)
    }
    for (const { bytes, names } of copies.values())
      if (names.size > 0) add(period, 'cold_storage_byte_seconds', seconds * bytes)
  }

  function happen({ what, machine: name, size, copy, bytes, as }, at) {
    const machine = machines.get(name)
    const diskOf = (id) => {
      const latest = catalogs.filter((catalog) => ms(catalog.effective_at) <= at).at(-1)
      return BigInt(latest.sizes.find((one) => one.id === id).disk_gb)
    }
    if (what === 'created')
      machines.set(name, { size, diskGb: diskOf(size), runs: false, hasDisk: false })
    else if (what === 'running') Object.assign(machine, { runs: true, hasDisk: true })
    else if (what === 'stopped') Object.assign(machine, { runs: false, hasDisk: true })
    else if (what === 'failed') machine.runs = false
    else if (what === 'resized') Object.assign(machine, { size, diskGb: diskOf(size) })
    else if (what === 'deleted') machines.delete(name)
    else if (what === 'copied') copies.set(copy, { bytes: BigInt(bytes), names: new Set([as]) })
    else if (what === 'named') copies.get(copy).names.add(as)
    else if (what === 'dropped') copies.get(copy).names.delete(as)
  }
}

function add(period, meter, amount) {
  period.used.set(meter, (period.used.get(meter) ?? 0n) + amount)
}

function bill({ start, end, plan: id, terms, isFirst, corrections, used }) {
  const having = catalogs.filter(({ plans }) => plans.some((plan) => plan.id === id))
  const catalog = having.filter((one) => ms(one.effective_at) <= start).at(-1) ?? having[0]
  const plan = catalog.plans.find((one) => one.id === id)
  const quantityOf = (meter) => used.get(meter) ?? 0n
  const lines = []

  const hours = BigInt(terms.included_standard_hours ?? plan.hours ?? 0)
  const month = nextMonth(start) - ms(`${new Date(start).toISOString().slice(0, 7)}-01`)
  const credits = isFirst
    ? hours * 3_600_000n
    : floor(hours * 3_600_000n * BigInt(end - start), BigInt(month))
  let [left, spent] = [credits, 0n]
  for (const size of catalog.sizes) {
    const quantity = quantityOf(`compute_${size.id}_seconds`)
    const weight = BigInt(size.weight)
    const isEnough = quantity * weight <= left
    const included = isEnough ? quantity : floor(left, weight)
    left -= included * weight
    spent += quantity * weight
    addLine(`compute_${size.id}_seconds`, 'compute', { quantity, included, weight })
  }

  const disk = BigInt(terms.included_hot_storage_bytes ?? plan.disk_bytes ?? 0)
  const seconds = BigInt((end - start) / 1000)
  for (const [meter, item, free] of [
    ['hot_storage_byte_seconds', 'hot_storage', disk * seconds],
    ['cold_storage_byte_seconds', 'cold_storage', 0n],
    ['egress_bytes', 'egress', 0n],
  ]) {
    const quantity = quantityOf(meter)
    addLine(meter, item, { quantity, included: quantity < free ? quantity : free, weight: 1n })
  }

  const sum = [...lines.map((line) => line.amount_cents), ...corrections].reduce((a, b) => a + b, 0)
  const shown = { included: floor(credits * 10n, 36n), used: nearest(spent * 10n, 36n) }
  const rest = shown.included > shown.used ? shown.included - shown.used : 0n
  return {
    period_start: new Date(start).toISOString(),
    period_end: new Date(end).toISOString(),
    plan_id: id,
    catalog_version: catalog.version,
    lines,
    compute_credits: {
      included: sixDecimals(shown.included),
      used: sixDecimals(shown.used),
      remaining: sixDecimals(rest),
    },
    adjustments: corrections,
    total_cents: sum,
  }

  function addLine(meter, item, { quantity, included, weight }) {
    const price = catalog.prices.find((one) => one.item === item)
    const billable = quantity - included
    const isFree = !plan.overage || !price || price.cents === null
    const cents = isFree
      ? 0
      : Number(nearest(billable * weight * BigInt(price.cents), BigInt(price.per)))
    lines.push({
      meter,
      quantity: quantity.toString(),
      included: included.toString(),
      billable: billable.toString(),
      amount_cents: cents,
    })
  }
}

function floor(amount, by) {
  return (amount - (amount % by)) / by
}

/** Half of one counts as one. */
function nearest(amount, by) {
  const rest = amount % by
  return (amount - rest) / by + (rest >= by - rest ? 1n : 0n)
}

function sixDecimals(millionths) {
  const fraction = String(millionths % 1_000_000n).padStart(6, '0')
  return `${floor(millionths, 1_000_000n)}.${fraction}`
}
