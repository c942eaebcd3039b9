/**
 * Who may import whom, types included: the table of the architecture, held by `npm run layers`. A new rule is one line here
 * and one in test/layers.test.ts, which breaks each rule once. It reads by TypeScript 6: 7, which checks the types, has no API.
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
 * The ladder of server/domain: a folder imports itself, those on the lines above its own, and the files that lie beside the
 * folders. access.ts stands on the ladder too: whatever is below it knows nothing of who asks.
 */
const ladder = [
  ['format'],
  ['ledger'],
  ['indexing'],
  ['access.ts'],
  ['branches'],
  ['nodes', 'pulls', 'orgs', 'graph'],
  ['search', 'accounts'],
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
      comment: 'A circle of imports has no first file to read.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    never('spec-imports-nothing', 'The contract stands alone.', '^spec/', '^(server|gitstore|index)/'),
    never(
      'concurrency-stands-alone',
      'Semaphores and their like are for index and server, too, and know nothing of Git.',
      '^gitstore/concurrency/',
      '^(server/|gitstore/(?!concurrency/)|index/|spec/)|node_modules/',
    ),
    never(
      'gitstore-speaks-git',
      'gitstore knows neither SQL nor organisations.',
      '^gitstore/',
      '^(server|index|spec)/',
    ),
    never(
      'gitstore-has-no-http',
      'gitstore knows no HTTP.',
      '^gitstore/',
      'node_modules/(express|kysely|(@types/)?better-sqlite3|minisearch|passport)',
    ),
    never(
      'index-speaks-sql',
      'index knows neither HTTP nor Git.',
      '^index/',
      '^(server/|gitstore/(?!concurrency/)|spec/)',
    ),
    never(
      'index-has-no-http',
      'index knows neither HTTP nor Git.',
      '^index/',
      'node_modules/(express|isomorphic-git|passport)',
    ),
    never(
      'search-text-knows-no-segment',
      'The folders of the search are a ladder: text, segments, ranking, answers.',
      '^index/search/text/',
      '^index/search/(?!text/)',
    ),
    never(
      'search-segments-know-no-ranking',
      'The folders of the search are a ladder: text, segments, ranking, answers.',
      '^index/search/segments/',
      '^index/search/(?!text/|segments/)',
    ),
    never(
      'search-ranking-knows-no-answer',
      'The folders of the search are a ladder: text, segments, ranking, answers.',
      '^index/search/ranking/',
      '^index/search/(?!text/|segments/|ranking/)',
    ),
    never(
      'domain-without-http',
      'The rules know nothing of how they are asked.',
      '^server/domain/',
      `(^spec/|^server/(http|routes)/|${http})`,
    ),
    never(
      'sql-stays-in-the-index',
      'The server asks the index by functions.',
      '^server/',
      'node_modules/(kysely|(@types/)?better-sqlite3)',
    ),
    never(
      'postgres-stays-in-the-index',
      'Only the index connects to PostgreSQL.',
      '^(server|gitstore|spec)/',
      'node_modules/(@types/)?pg/',
    ),
    never(
      'domain-has-two-neighbours',
      'Of the server the domain knows its dependencies and errors, how refusals are counted, and Markdown.',
      '^server/domain/',
      '^server/(?!domain/|markdown/|base/(deps|errors|error-mapping|counters|json-bounds)\\.ts$|metrics/observers\\.ts$)',
    ),
    never(
      'domain-files-know-no-folder',
      'What lies beside the folders is for all of them; access.ts is on the ladder.',
      '^server/domain/(?!access\\.ts$)[\\w-]+\\.ts$',
      '^server/domain/([\\w-]+/|access\\.ts$)',
    ),
    never(
      'cells-are-behind-placement',
      'Only what composes a process, commands and the forwarding of requests know that there are cells; the rest asks placement.ts.',
      '^(gitstore|index|spec)/|^server/(?!domain/cells/|http/cells/|process/|cli/)',
      '^server/domain/cells/',
    ),
    never(
      'markdown-stands-alone',
      'Pages, links and vaults share one Markdown: it knows none of them. Of the domain it knows what may be written.',
      '^server/markdown/',
      `^(index|spec)/|^server/(?!markdown/|domain/format/|base/percent-encoding\\.ts$)|${http}`,
    ),
    never(
      'vault-readers-know-no-plan',
      'What a folder holds does not depend on what an import makes of it.',
      '^server/vault/read/',
      '^server/vault/(?!read/)',
    ),
    never(
      'import-plans-alone',
      'A plan follows from a folder: it needs no service, no HTTP and no database; of the domain it knows what may be written.',
      '^server/vault/(read|plan)/',
      `(^(index|spec)/|^server/(?!domain/format/|domain/layout\\.ts$|markdown/|vault/(read|plan)/|base/(plural|percent-encoding)\\.ts$)|${http})`,
    ),
    never(
      'import-is-applied-here',
      'What is planned is written by the domain, in this service.',
      '^server/vault/apply/',
      `(^spec/|^server/(?!domain/|markdown/|vault/(read|plan|apply)/|base/(deps|errors)\\.ts$)|${http})`,
    ),
    never(
      'export-reads-repositories',
      'An export follows from repositories and the index: it knows no import.',
      '^server/vault/write/',
      `(^spec/|^server/(?!domain/|markdown/|vault/(read|write)/|base/deps\\.ts$)|${http})`,
    ),
    never(
      'export-writes-a-folder',
      'The writer of a folder is given files: it needs no service, no HTTP and no database.',
      '^server/vault/write/(exported-folder|file-hashes|moved-files)\\.ts$',
      `(^(index|spec)/|^server/(?!domain/format/|markdown/|vault/(read|write)/)|${http})`,
    ),
    never(
      'remote-asks-a-service',
      'A Grove elsewhere is known by its answers: no database and nothing of the doors of this one.',
      '^server/vault/remote/',
      `(^(index|spec)/|^server/(?!domain/|markdown/|vault/(plan|apply|remote)/|base/(plural|json-bounds|is-loopback)\\.ts$)|${http})`,
    ),
    never(
      'routes-call-the-domain',
      'A route is a line: it calls one use case.',
      '^server/routes/',
      '^(gitstore|index|spec)/',
    ),
    never(
      'http-stays-outside',
      'HTTP knows errors and semaphores of gitstore, nothing else below the domain.',
      '^server/http/',
      '^(index/|gitstore/(?!errors\\.ts$|concurrency/))',
    ),
    never(
      'connections-know-no-contract',
      'Connections and the log know nothing of operations, Git or cells; responses know connections.',
      '^server/http/(connection|log|responses)/',
      '^server/http/(contract|git|cells)/',
    ),
    never(
      'pages-ask-operations',
      'A page takes an Api: it can show nothing that REST would refuse. It shares Markdown with vaults.',
      '^server/pages/',
      '^(gitstore|index)/|^server/(domain/|routes/|vault/)',
    ),
    never(
      'pages-are-made-of-parts',
      'A part of pages, a text and a script know no page.',
      '^server/pages/(parts|text|client)/',
      '^server/pages/pages(/|\\.ts$)',
    ),
    never(
      'client-runs-in-browsers',
      'What browsers run knows the client, of pages what an edit, a text and a broken rule are, of Markdown its grammar and names.',
      '^server/pages/client/',
      '^(server/(?!markdown/(note-names|rough-grammar|wikilinks)\\.ts$|pages/(client/|(edits|urls)\\.ts$|text/(broken-rules|links|rendering|markdown|page-rules)\\.ts$))|gitstore|index|spec/(?!client/)|node:)',
    ),
    never(
      'pages-stay-outside',
      'Only the application knows that there are pages.',
      '^(server/(base|domain|http|routes|cli|vault|metrics)|gitstore|index|spec)/',
      '^server/pages/',
    ),
    never(
      'tools-ask-operations',
      'A tool takes an Api, as a page does; of pages it knows the addresses.',
      '^server/mcp/(?!http\\.ts$)',
      `^(gitstore|index)/|^server/(domain|routes|http|vault|pages/(?!urls\\.ts$))|${http}`,
    ),
    never(
      'models-have-two-doors',
      'Only the application and the command know that there are tools.',
      '^(server/(base|domain|http|routes|pages|vault|metrics)|gitstore|index|spec)/',
      '^server/mcp/',
    ),
    never(
      'entry-points-are-not-imported',
      'The process and the command line are where things begin.',
      '^(server/(base|domain|http|routes|pages|mcp|vault|metrics)|gitstore|index|spec)/',
      '^server/(process|cli)/',
    ),
    never(
      'one-child-process',
      'Only native.ts starts processes.',
      '^(server|index|gitstore/(?!native\\.ts$))',
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
