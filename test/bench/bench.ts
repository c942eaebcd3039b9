/**
 * Measures what Grove promises about time, next to other programs in one run: `npm run bench [-- SECTION…]`. It takes
 * minutes and needs no network.
 */

import { benchAnonymous } from './anonymous.ts'
import { benchAttacks } from './attacks.ts'
import { benchBaseline } from './baseline.ts'
import { benchCells } from './cells.ts'
import { benchClones } from './clones.ts'
import { benchConnections } from './connections.ts'
import { benchCredentials } from './credentials.ts'
import { benchDetails } from './details.ts'
import { benchDoor } from './door.ts'
import { benchCommits } from './durable.ts'
import { benchErasures } from './erasures.ts'
import { benchEvents } from './events.ts'
import { benchGraph } from './graph.ts'
import { benchGrowth } from './growth.ts'
import { openHistories } from './histories.ts'
import { benchHistory } from './history.ts'
import { benchImports } from './imports.ts'
import { benchMap } from './map.ts'
import { benchMetrics } from './metrics.ts'
import { benchPages } from './pages.ts'
import { startPeers } from './peers.ts'
import { benchPushes } from './pushes.ts'
import { benchQueries } from './queries.ts'
import { createReport, machineLine } from './report.ts'
import { benchRequests } from './requests.ts'
import { benchReviews } from './reviews.ts'
import { benchRules } from './rules.ts'
import { benchSearch } from './search-scale.ts'
import { benchSets } from './sets.ts'
import { benchStored } from './stored.ts'
import { benchTree } from './tree.ts'
import { benchTypes } from './types.ts'
import { benchWrites } from './writes.ts'

/** Sections over the two histories. The sections below them begin with an empty folder. */
const overTwo = {
  history: benchHistory,
  details: benchDetails,
  requests: benchRequests,
  door: benchDoor,
}
const others = {
  commits: benchCommits,
  writes: benchWrites,
  events: benchEvents,
  baseline: benchBaseline,
  pages: benchPages,
  reviews: benchReviews,
  erasures: benchErasures,
  rules: benchRules,
  sets: benchSets,
  import: benchImports,
  pushes: benchPushes,
  clones: benchClones,
  graph: benchGraph,
  map: benchMap,
  tree: benchTree,
  search: benchSearch,
  queries: benchQueries,
  types: benchTypes,
  growth: benchGrowth,
  metrics: benchMetrics,
  credentials: benchCredentials,
  connections: benchConnections,
  cells: benchCells,
  attacks: benchAttacks,
  anonymous: benchAnonymous,
  repositories: benchStored,
}

const names = [...Object.keys(overTwo), ...Object.keys(others)]
const asked = process.argv.length > 2 ? process.argv.slice(2) : names
const unknown = asked.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`No such section: ${unknown.join(', ')}. There are ${names.join(', ')}.`)
  process.exit(2)
}

console.log(machineLine())
const report = createReport()
const peers = await startPeers()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void peers.stop().finally(() => process.exit(130)))
}
try {
  for (const line of peers.missing) console.log(line)
  await overHistories()
  for (const [name, bench] of Object.entries(others)) if (asked.includes(name)) await bench(report, peers)
} finally {
  await peers.stop()
}
const missed = report.finish()
console.log(missed === 0 ? '\nEvery ratio is as expected.' : `\nNot as expected: ${missed}`)

async function overHistories(): Promise<void> {
  const benches = Object.entries(overTwo).filter(([name]) => asked.includes(name))
  if (benches.length === 0) return
  const histories = await openHistories()
  try {
    for (const [, bench] of benches) await bench(report, peers, histories)
  } finally {
    await histories.close()
  }
}
