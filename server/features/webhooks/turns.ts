/** The order in which deliveries leave. Organisations have turns, so one that fails slowly cannot fill all places. */

interface OfHook {
  readonly hook_id: string
  readonly org_id: string
}

/** How many rows may be chosen, in all and of each. */
interface Places<Row> {
  readonly all: number
  ofOrg(orgId: string): number
  ofHook(row: Row): number
}

/**
 * Chooses one row of each organisation, then another one of each, and so on. The webhooks of an organisation also have
 * turns. Organisations, webhooks and their rows keep their order.
 */
export function chooseInTurns<Row extends OfHook>(rows: readonly Row[], places: Places<Row>): Row[] {
  const lanes = [...groupsOf(rows, ({ org_id }) => org_id)].map(([orgId, ofOrg]) => {
    const hooks = [...groupsOf(ofOrg, ({ hook_id }) => hook_id).values()]
    const open = hooks.map((ofHook) => ofHook.filter((row, at) => at < places.ofHook(row)))
    return first(interleave(open), places.ofOrg(orgId))
  })
  return first(interleave(lanes), places.all)
}

function groupsOf<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group) group.push(row)
    else groups.set(keyOf(row), [row])
  }
  return groups
}

/** Returns the first row of each list, then the second ones, and so on. */
function interleave<Row>(lists: readonly (readonly Row[])[]): Row[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list[at] ?? [])).flat()
}

/** @param count below 0: none */
function first<Row>(rows: readonly Row[], count: number): Row[] {
  return rows.slice(0, Math.max(0, count))
}
