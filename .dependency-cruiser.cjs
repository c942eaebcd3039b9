/**
 * Rules for imports, including types, which `npm run layers` checks. A new rule is one entry here and one in
 * test/layers.tools.ts, which breaks each rule once. The tool parses with TypeScript 6, because version 7, which checks
 * the types, has no API.
 */
const never = (name, comment, from, to) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { path: to },
})

const http = 'node_modules/(express|passport|express-openapi-validator)'

/**
 * The ladder of server/domain. A folder may import itself, the folders on the lines above it, and the files next to the
 * folders. access.ts is also on the ladder: the lines above it know nothing of the caller.
 */
const ladder = [
  ['format'],
  ['net'],
  ['access.ts'],
  ['embeddings'],
  ['types'],
  ['ledger'],
  ['event-log'],
  ['indexing'],
  ['mail'],
  ['events'],
  ['audit'],
  ['consent'],
  ['branches'],
  ['anchors'],
  ['nodes', 'pulls', 'orgs'],
  ['review'],
  ['search', 'accounts'],
  ['oauth'],
  ['pushes'],
  ['cells'],
  ['background', 'operator'],
]

const climbs = ladder.flatMap((names, at) =>
  names.map((name) => {
    const others = [...names.filter((other) => other !== name), ...ladder.slice(at + 1).flat()]
    const paths = others.map((other) => (other.endsWith('.ts') ? other.replace('.', '\\.') : `${other}/`)).join('|')
    return never(
      `ladder-${name.replace('.ts', '')}`,
      'Imports go down the ladder.',
      `^server/domain/${name.endsWith('.ts') ? name.replace('.', '\\.') : `${name}/`}`,
      `^server/domain/(${paths})`,
    )
  }),
)

module.exports = {
  forbidden: [
    {
      name: 'no-cycle',
      comment: 'A cycle of imports has no first file to read.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    never(
      'spec-imports-catalogs',
      'The spec imports no other code, except catalogs whose lists and limits it generates.',
      '^spec/',
      '^(server/(?!base/(allow-list|audit-actions|errors|event-types|limits)\\.ts$)|gitstore/(?!limits\\.ts$|caching/bounds\\.ts$)|index/(?!limits\\.ts$))',
    ),
    never(
      'limits-import-nothing',
      'Everything may import limits, in browsers also.',
      '^(server/base|gitstore|index)/limits\\.ts$',
      '.',
    ),
    never(
      'concurrency-stands-alone',
      'Semaphores, quotas and queues also serve index and server, and know nothing of Git.',
      '^gitstore/concurrency/',
      '^(server/|gitstore/(?!concurrency/)|index/|spec/)|node_modules/',
    ),
    never(
      'caching-stands-alone',
      'Caches also serve index and server, and know nothing of Git.',
      '^gitstore/caching/',
      '^(server/|gitstore/(?!caching/)|index/|spec/)|node_modules/(?!lru-cache/)',
    ),
    never(
      'caches-have-bounds',
      'The bounds of all caches are one table, gitstore/caching/bounds.ts.',
      '^(server|index|spec)/|^gitstore/(?!caching/)',
      'node_modules/lru-cache/',
    ),
    never(
      'gitstore-speaks-git',
      'gitstore knows neither SQL nor organisations.',
      '^gitstore/',
      '^(server|index|spec)/',
    ),
    never(
      'gitstore-has-no-http',
      'gitstore knows neither HTTP nor SQL nor search.',
      '^gitstore/',
      'node_modules/(express|kysely|(@types/)?better-sqlite3|minisearch|passport)',
    ),
    never(
      'index-speaks-sql',
      'index knows neither HTTP nor Git.',
      '^index/',
      '^(server/|gitstore/(?!(concurrency|caching)/)|spec/)',
    ),
    never(
      'index-has-no-http',
      'index knows neither HTTP nor Git.',
      '^index/',
      'node_modules/(express|isomorphic-git|passport)',
    ),
    never(
      'search-text-knows-no-segment',
      'The folders of the search are a ladder: text, segments, ranking, meaning, answers.',
      '^index/search/text/',
      '^index/search/(?!text/)',
    ),
    never(
      'search-segments-know-no-ranking',
      'The folders of the search are a ladder: text, segments, ranking, meaning, answers.',
      '^index/search/segments/',
      '^index/search/(?!text/|segments/)',
    ),
    never(
      'search-ranking-knows-no-answer',
      'The folders of the search are a ladder: text, segments, ranking, meaning, answers.',
      '^index/search/ranking/',
      '^index/search/(?!text/|segments/|ranking/)',
    ),
    never(
      'search-meaning-knows-no-answer',
      'The folders of the search are a ladder: text, segments, ranking, meaning, answers.',
      '^index/search/meaning/',
      '^index/search/(?!text/|segments/|ranking/|meaning/)',
    ),
    never(
      'domain-without-http',
      'The domain does not depend on HTTP.',
      '^server/domain/',
      `(^spec/|^server/(http|routes)/|${http})`,
    ),
    never(
      'sql-stays-in-the-index',
      'The server calls functions of the index, or of the rows of its feature, instead of writing SQL.',
      '^server/(?!features/[\\w-]+/rows/)',
      'node_modules/(kysely|(@types/)?better-sqlite3)',
    ),
    never(
      'postgres-stays-in-the-index',
      'Only the index connects to PostgreSQL.',
      '^(server|gitstore|spec)/',
      'node_modules/(@types/)?pg/',
    ),
    never(
      'kernel-knows-no-feature',
      'Only the lists of features and commands, and the process of an import, import features. All other code must work without them.',
      '^(gitstore|index|spec)/|^server/(?!features/|process/(features|import-process)\\.ts$|cli/program\\.ts$)',
      '^server/features/(?!feature\\.ts$)',
    ),
    never(
      'features-know-ports',
      'A feature imports the kernel. Of another feature it imports only the file port.ts.',
      '^server/features/([\\w-]+)/',
      '^server/features/(?!$1/|[\\w-]+/port\\.ts$|feature\\.ts$)',
    ),
    never(
      'feature-pages-ask-operations',
      'A page of a feature uses an Api and the parts of pages, as all pages do.',
      '^server/features/[\\w-]+/pages/',
      '^(gitstore|index)/|^server/(domain/|routes/|features/[\\w-]+/(?!pages/))',
    ),
    never(
      'feature-rules-without-http',
      'Only the manifest of a feature, its pages and its tools know HTTP.',
      '^server/features/[\\w-]+/(?!feature\\.ts$|pages/|tools/|http/)',
      `(^spec/|^server/(http|routes|pages|mcp)/|${http})`,
    ),
    never(
      'feature-commands-share-a-kit',
      'Of the command line, a command of a feature imports only command.ts.',
      '^server/features/[\\w-]+/commands/',
      '^server/(process/|cli/(?!commands/command\\.ts$))',
    ),
    never(
      'base-stands-on-nothing',
      'Everything may import base, so it imports nothing above it.',
      '^server/base/',
      '^server/(?!base/)',
    ),
    never(
      'domain-has-two-neighbours',
      'From the server, the domain imports only base without the configuration, Markdown and observers.',
      '^server/domain/(?!services\\.ts$)',
      '^server/(?!domain/|markdown/|base/(?!config\\.ts$)|metrics/observers\\.ts$)',
    ),
    never(
      'second-reader-stands-alone',
      'The second reader shares no code with the first one, so a fault of one is not in the other.',
      '^server/domain/operator/second-reader\\.ts$',
      '^(server|gitstore|index|spec)/',
    ),
    never(
      'domain-files-know-no-folder',
      'Files next to the folders serve all of them, so they import none; access.ts is on the ladder. services.ts has the types of all.',
      '^server/domain/(?!(?:access|services)\\.ts$)[\\w-]+\\.ts$',
      '^server/domain/([\\w-]+/|access\\.ts$)',
    ),
    never(
      'cells-are-behind-placement',
      'Only processes, commands and request forwarding know about cells; other code uses placement.ts.',
      '^(gitstore|index|spec)/|^server/(?!domain/cells/|http/cells/|process/|cli/)',
      '^server/domain/cells/',
    ),
    never(
      'markdown-stands-alone',
      'Pages, links and vaults share the Markdown code, which imports none of them. From the domain it imports only the format.',
      '^server/markdown/',
      `^(index|spec)/|^server/(?!markdown/|domain/format/|base/(limits|percent-encoding)\\.ts$)|${http}`,
    ),
    never(
      'vault-readers-know-no-plan',
      'Reading a folder does not depend on the plan of an import.',
      '^server/features/vault/read/',
      '^server/features/vault/(?!read/)',
    ),
    never(
      'import-plans-alone',
      'A plan follows from a folder. It needs no service, HTTP or database. From the domain it imports only format and layout.',
      '^server/features/vault/(read|plan)/',
      `(^(index|spec)/|^server/(?!domain/format/|domain/layout\\.ts$|markdown/|features/vault/(read|plan)/|base/(limits|plural|percent-encoding)\\.ts$)|${http})`,
    ),
    never(
      'import-is-applied-here',
      'Applying a plan writes through the domain of this service.',
      '^server/features/vault/apply/',
      `(^spec/|^server/(?!domain/|markdown/|features/vault/(read|plan|apply)/|base/(errors|limits)\\.ts$)|${http})`,
    ),
    never(
      'uploads-are-imported-here',
      'An upload is imported through the domain of this service, as a folder is.',
      '^server/features/vault/uploads/',
      `(^spec/|^server/(?!domain/|markdown/|features/vault/(read|plan|apply|uploads)/|base/(errors|error-mapping|config|limits|rounds)\\.ts$)|${http})`,
    ),
    never(
      'export-reads-repositories',
      'An export reads repositories and the index, and does not depend on imports.',
      '^server/features/vault/write/',
      `(^spec/|^server/(?!domain/|markdown/|features/vault/(read|rows|write)/|base/limits\\.ts$)|${http})`,
    ),
    never(
      'export-writes-a-folder',
      'The writer of a folder receives files. It needs no service, HTTP or database.',
      '^server/features/vault/write/(exported-folder|file-hashes|moved-files)\\.ts$',
      `(^(index|spec)/|^server/(?!domain/format/|markdown/|features/vault/(read|write)/)|${http})`,
    ),
    never(
      'remote-asks-a-service',
      'A remote Grove is used through its API. The client needs no database and no HTTP server.',
      '^server/features/vault/remote/',
      `(^(index|spec)/|^server/(?!domain/|markdown/|features/vault/(plan|apply|remote)/|base/(plural|limits)\\.ts$)|${http})`,
    ),
    never(
      'routes-call-the-domain',
      'A route is one line that calls one use case.',
      '^server/routes/',
      '^(gitstore|index|spec)/',
    ),
    never(
      'http-stays-outside',
      'Below the domain, HTTP imports only errors, semaphores and caches of gitstore.',
      '^server/http/',
      '^(index/|gitstore/(?!errors\\.ts$|concurrency/|caching/))',
    ),
    never(
      'connections-know-no-contract',
      'Connections, log and responses know nothing of operations, Git or cells.',
      '^server/http/(connection|log|responses)/',
      '^server/http/(contract|git|cells)/',
    ),
    never(
      'pages-ask-operations',
      'A page uses an Api, so it cannot show anything that REST would refuse. It shares Markdown with vaults.',
      '^server/pages/',
      '^(gitstore/(?!caching/)|index/)|^server/(domain/(?!services\\.ts$)|routes/)',
    ),
    never(
      'pages-are-made-of-parts',
      'Parts, texts, scripts and the kit of pages import no page.',
      '^server/pages/(kit|parts|text|client)/',
      '^server/pages/pages(/|\\.ts$)',
    ),
    never(
      'client-runs-in-browsers',
      'Browser code may import the client, edits, proposals, properties, URLs, addresses and texts of pages, and the grammar and names of Markdown.',
      '^server/pages/client/',
      '^(server/(?!base/(limits|page-segments)\\.ts$|markdown/(hidden-paths|note-names|rough-grammar|wikilinks)\\.ts$|pages/(client/|(edits|linking|properties|proposing|urls)\\.ts$|text/(attached-names|broken-rules|callouts|code|colours|drawing|footnotes|inline-html|links|markdown|media|page-rules|rendering|tasks|unread-number)\\.ts$))|gitstore|index|spec/(?!client/)|node:)',
    ),
    never(
      'pages-stay-outside',
      'Only the application imports pages.',
      '^(server/(base|domain|http|routes|cli|metrics)|gitstore|index|spec)/',
      '^server/pages/',
    ),
    never(
      'tools-ask-operations',
      'A tool uses an Api, as a page does. From pages it imports only URLs and word diffs, and from the domain pure functions on JSON and texts.',
      '^server/mcp/(?!http\\.ts$)',
      `^(gitstore|index)/|^server/(domain/(?!(?:types/(?:definition|example)|format/(?:merged-properties|text-edits))\\.ts$)|routes|http|pages/(?!(?:urls|text/word-diff)\\.ts$))|${http}`,
    ),
    never(
      'demo-asks-operations',
      'The demo writes by requests to a service. From the domain it imports only the names in a data folder and its processes.',
      '^server/demo/',
      `^index/|^gitstore/(?!durable\\.ts$|fs-exists\\.ts$)|^server/(domain/(?!(layout|live-processes)\\.ts$)|routes|mcp|cli|pages/(?!linking\\.ts$))|${http}`,
    ),
    never(
      'models-have-two-doors',
      'Only the application and the command import tools.',
      '^(server/(base|domain|http|routes|pages|metrics)|gitstore|index|spec)/',
      '^server/mcp/',
    ),
    never(
      'entry-points-are-not-imported',
      'The process and the command line are entry points.',
      '^(server/(base|domain|features(?!/[\\w-]+/commands/)|http|routes|pages|mcp|metrics)|gitstore|index|spec)/',
      '^server/(process|cli)/',
    ),
    never(
      'one-child-process',
      'Only native.ts starts processes, and import-child.ts one for each uploaded import. The build and the examples of deploy/ are not the service.',
      '^(server/(?!features/vault/uploads/import-child\\.ts$|build/|deploy/)|index|gitstore/(?!native\\.ts$))',
      '^(node:)?child_process$',
    ),
    ...climbs,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
}
