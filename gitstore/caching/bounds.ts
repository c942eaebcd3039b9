/**
 * The bounds of every cache, and the bytes of heap that it then takes. `npm run generate` writes them into
 * server/deploy/metrics.md.
 */

export interface Bound {
  /** Entries, or the sum of their sizes. */
  readonly counts: 'entries' | 'sizes'
  readonly most: number
  /** Estimated bytes of an ordinary entry with its key, or of one in size. */
  readonly bytesEach: number
  /** The largest size that is cached. Default: the bound. */
  readonly mostOfOne?: number
  /** How many of these caches a service has. Default: 1. */
  readonly copies?: number
}

const mib = 1_048_576

const bytes = (most: number, mostOfOne = most): Bound => ({ counts: 'sizes', most, bytesEach: 1, mostOfOne })
const sizes = (most: number, bytesEach: number): Bound => ({ counts: 'sizes', most, bytesEach })
const entries = (most: number, bytesEach: number, copies = 1): Bound => ({ counts: 'entries', most, bytesEach, copies })

export type CacheName = keyof typeof bounds

/** Each cache. The code that fills it says what an entry is, and how its size is counted. */
export const bounds = {
  // Git storage
  blobs: bytes(4_000_000),
  commits: bytes(8_000_000, 80_000),
  trees: bytes(6_000_000),
  small_packs: bytes(8_000_000),
  ref_listings: sizes(200_000, 120),
  packed_refs: sizes(200_000, 120),
  walked_logs: sizes(200_000, 105),
  filtered_logs: bytes(16 * mib),
  divergences: entries(5_000, 400),
  merge_bases: entries(5_000, 400),
  renames: bytes(4 * mib),
  rewritten_objects: entries(50_000, 300),

  // Contents of repositories
  node_contents: bytes(4_000_000),
  edge_folders: bytes(16_000_000),
  latest_edge_folders: entries(1_000, 300),
  org_records: sizes(50_000, 300),
  org_rules: sizes(4 * mib, 4),
  org_types: sizes(16 * mib, 4),
  patterns: sizes(50_000, 165),
  blob_starts: bytes(4_000_000),
  file_facts: entries(20_000, 300),
  former_titles: entries(1_000, 1_000),
  line_maps: bytes(16 * mib),

  // Branches, tags and pull requests
  change_parts: sizes(100_000, 200),
  commit_makers: sizes(100_000, 100),
  immutable_answers: bytes(9 * mib, 768 * 1_024),
  indexed_branches: sizes(200_000, 150),
  matching_rules: entries(2_000, 2_000),
  merges: sizes(20_000, 200),
  public_blobs: sizes(400_000, 80),
  same_changes: entries(20_000, 200),
  tag_commits: entries(20_000, 300),
  tags_on_main: entries(20_000, 200),

  // The graph, links and pages
  graph_drawings: bytes(192 * mib),
  graph_figures: bytes(64 * mib),
  link_sources: sizes(30_000, 300),
  neighbours: entries(10_000, 300),
  shown_embeds: bytes(8 * mib),
  shown_texts: bytes(16 * mib),

  // Events, accounts and cells
  audited: entries(20_000, 300),
  durable_events: entries(10_000, 200),
  forwarded_requests: entries(10_000, 800),
  last_uses: entries(10_000, 200),
  org_limits: entries(10_000, 250),
  places: entries(100_000, 300),
  program_errors: entries(1_000, 1_000),
  program_keys: entries(1_000, 4_000),
  recorded_refs: sizes(200_000, 150),
  signed_requests: entries(10_000, 800),
  unread_items: sizes(20_000, 300),
  verified_tokens: entries(10_000, 800),

  // Models and databases
  embedded_questions: entries(1_000, 2_000),
  embedded_texts: entries(256, 8_000),
  refused_texts: entries(256, 200),
  statements: entries(500, 8_000, 6),
} as const satisfies Record<string, Bound>

export const cacheNames = Object.keys(bounds) as readonly CacheName[] // the object has no others

/** The bytes of a full cache, of all its copies. */
export function bytesOfBound({ most, bytesEach, copies = 1 }: Bound): number {
  return most * bytesEach * copies
}
