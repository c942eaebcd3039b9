/** The tables of spec/limits.md state the limits of the API description and of the code, and the service keeps them. */

import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Limit } from '../../server/base/counters.ts'
import { limitedSignIns } from '../../server/domain/accounts/sign-ins.ts'
import { limitedMail } from '../../server/domain/mail/limits.ts'
import document from '../../spec/openapi.json' with { type: 'json' }
import { client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

type Unit = 'bytes' | 'count' | 'seconds'

/** A constant of the code: its file, its name, and the unit in which the table shows it. */
type Constant = readonly [file: string, name: string, unit: Unit]

const { schemas, parameters } = document.components

/** Rows whose limit is a number of the API description. */
const described: Readonly<Record<string, string>> = {
  'title of a node or pull request': `1–${schemas.Title.maxLength} characters, not blank`,
  'label of a parent or connection': `${schemas.EdgeLabel.maxLength} characters`,
  'tags of a node': `${schemas.NodeTags.maxItems}`,
  'a tag of a node': `1–${schemas.NodeTags.items.maxLength} characters`,
  'a file over REST': inBytes(schemas.NodeText.maxLength),
  'path of a file': `${grouped(schemas.FileChange.properties.path.maxLength)} bytes`,
  'a branch name': `${schemas.BranchName.maxLength} bytes`,
  'a commit message over REST': `${inBytes(schemas.CommitMessage.maxLength)}, not blank`,
  'description of a pull request': inBytes(schemas.PullDescription.maxLength),
  'reviewers of a pull request': `${schemas.UserIds.maxItems}`,
  'name of a check': `${schemas.CheckName.minLength}–${schemas.CheckName.maxLength} ASCII letters, digits, spaces, \`.\`, \`_\`, \`/\` and \`-\``,
  'description of a check': `${schemas.NewCheck.properties.description.maxLength} characters`,
  'URL of a check': `${grouped(schemas.NewCheck.properties.url.maxLength)} characters, \`http\` or \`https\``,
  'users that a comment mentions': `${schemas.Mentions.maxItems}`,
  'lines of an anchor': `${schemas.NewAnchor.properties.num_lines.maximum}`,
  'quote of an anchor': `${grouped(schemas.NewQuote.properties.exact.maxLength)} characters, with ${schemas.NewQuote.properties.prefix.maxLength} before and after it`,
  'suggestions that are applied at once': `${schemas.SuggestionsToApply.properties.comments.maxItems}`,
  'comments of a review': `${schemas.NewReview.properties.comments.maxItems}`,
  'name of a user or an organisation': `${schemas.DisplayName.minLength}–${schemas.DisplayName.maxLength} characters, not blank`,
  'description of an organisation': `${grouped(schemas.OrgDescription.maxLength)} characters`,
  'name of a bot': `${schemas.BotName.maxLength} characters`,
  'URL of a webhook': `${grouped(schemas.WebhookUrl.maxLength)} characters`,
  'types of events of a webhook': `${schemas.EventTypes.minItems}–${schemas.EventTypes.maxItems}`,
  'rules of an organisation': `${schemas.NewRules.maxItems}`,
  'patterns of branches in a rule': `${schemas.NewRule.properties.branches.minItems}–${schemas.NewRule.properties.branches.maxItems}`,
  'a pattern of branches': `${schemas.NewRule.properties.branches.items.minLength}–${schemas.NewRule.properties.branches.items.maxLength} bytes`,
  'approvals that a rule needs': `${schemas.NewRule.properties.approvals.maximum}`,
  'users that a rule names for approvals': `${schemas.UserIds.maxItems}`,
  'checks of a rule': `${schemas.NewRule.properties.checks.maxItems}`,
  'an e-mail address': `${schemas.Email.maxLength} characters`,
  '`limit` of a list': range(parameters.limit.schema),
  '`top_k`': range(schemas.SearchRequest.properties.top_k),
  'a query': `${inBytes(schemas.SearchRequest.properties.query.maxLength)}, not blank`,
  '`q` of suggestions': `${parameters.suggest_q.schema.maxLength} characters`,
  '`limit` of suggestions': range(parameters.suggest_limit.schema),
  'changes of a commit': grouped(schemas.NewCommit.properties.changes.maxItems),
  'nodes of a batch': grouped(schemas.NewNodes.properties.nodes.maxItems),
  'parents of a node in a batch': grouped(schemas.NewBatchNode.properties.parents.maxItems),
  'connections of a node in a batch': grouped(schemas.NewBatchNode.properties.connections.maxItems),
  'files of a node in a batch': grouped(schemas.NewBatchNode.properties.files.maxItems),
  'facets of a query': `${schemas.NodeQuery.properties.facets.maxItems}`,
  'values of a facet': range(schemas.AskedFacet.properties.limit),
  'a slug': `${schemas.NodeSummary.properties.slug.maxLength} characters, from the first 500 of the title`,
}

/** Rows whose limit begins with a constant of the code. */
const coded: Readonly<Record<string, Constant>> = {
  'text of a node over REST': ['server/domain/format/node-format.ts', 'textLimit', 'bytes'],
  'a file over Git': ['gitstore/transfer/service-process.ts', 'blobLimitBytes', 'bytes'],
  'properties of a node, as JSON': ['server/domain/format/limits.ts', 'propertiesLimit', 'bytes'],
  '`node.json`': ['server/domain/format/node-format.ts', 'jsonLimit', 'bytes'],
  'a file in `parents/` or `connections/`': ['server/domain/format/node-format.ts', 'jsonLimit', 'bytes'],
  'parents of a node': ['server/domain/format/edge-folders.ts', 'maxEdges', 'count'],
  'connections that a node holds': ['server/domain/format/edge-folders.ts', 'maxEdges', 'count'],
  'branches of a node': ['server/domain/branches/ref-rules.ts', 'maxRefs', 'count'],
  'Git tags of a node': ['server/domain/branches/ref-rules.ts', 'maxRefs', 'count'],
  'members of an organisation': ['server/domain/orgs/members.ts', 'maxMembers', 'count'],
  'open invitations of an organisation': ['server/domain/accounts/invitations.ts', 'maxInvitations', 'count'],
  'types of an organisation': ['server/domain/types/definition.ts', 'types', 'count'],
  'definition of a type, as JSON': ['server/domain/types/definition.ts', 'bytes', 'bytes'],
  'aliases of a type': ['server/domain/types/definition.ts', 'aliases', 'count'],
  'connections that a type names': ['server/domain/types/definition.ts', 'connections', 'count'],
  'types that a connection or a parent may have': ['server/domain/types/definition.ts', 'targets', 'count'],
  'columns of the table of a type': ['server/domain/types/definition.ts', 'columns', 'count'],
  'fields of a type, at all levels': ['server/domain/types/schema-reader.ts', 'fields', 'count'],
  'values of `enum`': ['server/domain/types/schema-reader.ts', 'values', 'count'],
  '`pattern` of a field': ['server/domain/types/patterns.ts', 'units', 'count'],
  'a text under a `pattern`': ['server/domain/types/checker.ts', 'patternUnits', 'count'],
  'problems of a node that are listed': ['server/domain/types/rules.ts', 'mostViolations', 'count'],
  'bots of an organisation': ['server/domain/accounts/bots.ts', 'maxBots', 'count'],
  'tokens of a bot': ['server/domain/accounts/bot-tokens.ts', 'maxBotTokens', 'count'],
  'webhooks of an organisation': ['server/domain/webhooks/webhooks.ts', 'maxWebhooks', 'count'],
  'settings and rules of an organisation, as JSON': ['server/domain/format/org-format.ts', 'fileLimitBytes', 'bytes'],
  'nodes and organisations that a user follows': ['server/domain/inbox/follows.ts', 'maxFollows', 'count'],
  'items of an inbox that are marked as read one by one': ['server/domain/inbox/marks.ts', 'maxReadItems', 'count'],
  'organisations of an inbox': ['server/domain/inbox/inbox-orgs.ts', 'maxOrgs', 'count'],
  'pull requests of each kind that an inbox considers': ['server/domain/inbox/interests.ts', 'mostInvolved', 'count'],
  'text of a comment or review': ['server/domain/review/comments.ts', 'maxTextBytes', 'bytes'],
  'suggestion of a comment': ['server/domain/review/suggestible.ts', 'maxBytes', 'bytes'],
  'comments, reviews and events of a pull request': ['server/domain/ledger/entries.ts', 'maxEntries', 'count'],
  'events that an organisation keeps': ['server/domain/events/retention.ts', 'mostEvents', 'count'],
  'streams of events of a process': ['server/domain/events/open-streams.ts', 'process', 'count'],
  'streams of events of one user in a process': ['server/domain/events/open-streams.ts', 'person', 'count'],
  'streams of events of one organisation in a process': ['server/domain/events/open-streams.ts', 'org', 'count'],
  'events that a stream sends before its client has read them': ['server/domain/events/stream.ts', 'events', 'count'],
  'time for the client of a stream to read them': ['server/http/responses/event-stream.ts', 'drainMs', 'seconds'],
  'checks of a commit': ['server/domain/ledger/checks.ts', 'maxChecks', 'count'],
  'providers that a user has linked': ['server/domain/accounts/oidc/freshness.ts', 'maxIdentities', 'count'],
  'programs that a user has connected': ['server/domain/oauth/connections.ts', 'mostConnections', 'count'],
  'personal access tokens of a user, including expired ones': [
    'server/domain/accounts/access-tokens.ts',
    'maxTokens',
    'count',
  ],
  'a tree, commit or tag object over Git, inflated': [
    'gitstore/transfer/service-process.ts',
    'otherLimitBytes',
    'bytes',
  ],
  'a body': ['server/http/contract/bodies.ts', 'bytes', 'bytes'],
  'time for a body to arrive': ['server/http/contract/bodies.ts', 'ms', 'seconds'],
  'objects and arrays in a body': ['server/http/contract/json.ts', 'maxContainers', 'count'],
  'levels of objects and arrays in a body': ['server/base/json-bounds.ts', 'depthLimit', 'count'],
  'time for the headers to arrive': ['server/http/connection/connections.ts', 'headersTimeoutMs', 'seconds'],
  'parents, connections and files of all nodes in a batch': [
    'server/domain/nodes/batch-input.ts',
    'maxEntries',
    'count',
  ],
  'commits that update-branch rebases': ['server/domain/pulls/branch-updates.ts', 'maxCommits', 'count'],
  'commits of a ledger from which an owner erases a text': [
    'server/domain/review/erase-entry.ts',
    'maxErasedCommits',
    'count',
  ],
  'erasures of a node that `org.git` lists': ['server/domain/review/erased-list.ts', 'maxErasedItems', 'count'],
  'nodes that differ from `main` in a search of a branch or past state': [
    'server/domain/search/snapshots.ts',
    'mostNodes',
    'count',
  ],
  'their texts': ['server/domain/search/snapshots.ts', 'mostBytes', 'bytes'],
  'newer nodes in a search of a past state': ['server/domain/search/snapshots.ts', 'mostGone', 'count'],
  'newer commits in a search of a past state': ['server/domain/search/snapshots.ts', 'mostCommits', 'count'],
  'a filter in its text form': ['index/properties/filter.ts', 'text', 'count'],
  'conditions of a filter': ['index/properties/filter.ts', 'conditions', 'count'],
  'levels of `all`, `any` and `not`, one more than of parentheses': ['index/properties/filter.ts', 'levels', 'count'],
  'values of `in`': ['index/properties/filter.ts', 'values', 'count'],
  'a value of a filter, and what counts of a property': ['index/properties/values.ts', 'countedCharacters', 'count'],
  'properties and fields of `sort`': ['index/properties/text-sort.ts', 'keys', 'count'],
  'properties and fields of `columns`': ['index/properties/text-columns.ts', 'columns', 'count'],
  'columns of an organisation in memory': ['index/properties/table.ts', 'mostColumns', 'count'],
  'the pack of a push': ['gitstore/transfer/service-process.ts', 'packLimitBytes', 'bytes'],
  'refs of a push': ['server/domain/pushes/receive-push.ts', 'maxRefs', 'count'],
  'the list of refs of a push': ['server/domain/pushes/smart-http.ts', 'pushLimitBytes', 'bytes'],
  'a Git fetch request of a caller who is not a member': ['server/domain/pushes/smart-http.ts', 'public', 'bytes'],
  'a Git fetch request of a member': ['server/domain/pushes/smart-http.ts', 'member', 'bytes'],
  'a message to `/mcp`, one per request': ['server/mcp/http.ts', 'bytes', 'bytes'],
  'time for a message to `/mcp` to arrive': ['server/mcp/http.ts', 'ms', 'seconds'],
  'an archive to import': ['server/vault/uploads/limits.ts', 'archiveBytes', 'bytes'],
  'its entries': ['server/vault/uploads/limits.ts', 'entries', 'count'],
  'its files that are imported': ['server/vault/uploads/limits.ts', 'files', 'count'],
  'the bytes of these files, unpacked': ['server/vault/uploads/limits.ts', 'unpackedBytes', 'bytes'],
  'a file of an archive': ['server/vault/uploads/limits.ts', 'fileBytes', 'bytes'],
  'a path in an archive': ['server/vault/uploads/limits.ts', 'pathBytes', 'count'],
  'a name in an archive': ['server/vault/uploads/limits.ts', 'nameBytes', 'count'],
  'folders above a file of an archive': ['server/vault/uploads/limits.ts', 'depth', 'count'],
  'imports of archives that are listed': ['server/vault/uploads/limits.ts', 'kept', 'count'],
  "items of each list of an import's report": ['server/vault/uploads/limits.ts', 'listed', 'count'],
  'imports of archives that a process receives, and that wait or run': [
    'server/vault/uploads/limits.ts',
    'atOnce',
    'count',
  ],
  'these imports of one user': ['server/vault/uploads/limits.ts', 'ofOneUser', 'count'],
  'an archive whose client sends nothing': ['server/http/connection/slow-client.ts', 'silenceTimeoutMs', 'seconds'],
  'an archive whose client sends slowly': ['server/http/connection/slow-client.ts', 'slowBytes', 'bytes'],
  'a form of a page with a folder to import, with its hidden files': [
    'server/pages/import-form.ts',
    'mostFormBytes',
    'bytes',
  ],
  'files of such a form': ['server/pages/import-form.ts', 'files', 'count'],
  'a form of a page with a text': ['server/pages/pages.ts', 'mostTextBytes', 'bytes'],
  'pairs of new and removed files that an import compares': ['server/vault/plan/renames.ts', 'maxPairs', 'count'],
  '`import --to`: items of a batch': ['server/vault/remote/items.ts', 'entriesAtOnce', 'count'],
  '`import --to`: parents, connections and files of a batch': [
    'server/vault/remote/items.ts',
    'entriesOfBatch',
    'count',
  ],
  '`import --to`: JSON of a request': ['server/vault/remote/items.ts', 'requestBytes', 'bytes'],
  '`import --to`: the token file': ['server/vault/remote/client.ts', 'maxTokenFileBytes', 'bytes'],
  'nodes of a search': ['index/search/ranking/ranking.ts', 'MOST_NODES', 'count'],
  'text of a search with `include_raw_text`': ['index/search/answers/answer.ts', 'MOST_TEXT', 'bytes'],
  'question that is compared by meaning': ['server/domain/embeddings/question-vectors.ts', 'longestQuestion', 'count'],
  'texts of a node that are compared by meaning': ['server/domain/embeddings/texts.ts', 'mostTexts', 'count'],
  'a text that is compared by meaning': ['server/domain/embeddings/texts.ts', 'mostUnits', 'count'],
  'nodes that gain by their meaning in a search': ['index/search/meaning/gains.ts', 'MOST_BY_MEANING', 'count'],
  'questions for a model at once, in a process': [
    'server/domain/embeddings/question-vectors.ts',
    'mostRunning',
    'count',
  ],
  'dimensions of a vector': ['server/domain/embeddings/endpoint-answer.ts', 'mostDimensions', 'count'],
  'edges per hop that an expansion reads': ['index/search/ranking/ranking.ts', 'MOST_EDGES_A_HOP', 'count'],
  'edges of one node that an expansion reads': ['index/search/ranking/ranking.ts', 'MOST_EDGES_OF_A_SOURCE', 'count'],
  'edges that `connections` of a search is taken from': ['index/search/answers/answer.ts', 'MOST_LOOKED_AT', 'count'],
  'tags of an organisation that are listed': ['index/derived/tags.ts', 'listedTags', 'count'],
  'levels of nested tags': ['index/derived/tags.ts', 'mostLevels', 'count'],
  'titles that are ranked for a suggestion': ['index/search/ranking/title-matches.ts', 'MOST_CANDIDATES', 'count'],
  'properties in a list': ['server/domain/nodes/nodes.ts', 'listedProperties', 'bytes'],
  "parents in a node's details": ['index/derived/neighbours.ts', 'maxNeighbours', 'count'],
  "children in a node's details": ['index/derived/neighbours.ts', 'maxNeighbours', 'count'],
  "connections in a node's details": ['index/derived/neighbours.ts', 'maxNeighbours', 'count'],
  'a message in a list': ['gitstore/objects/commits.ts', 'keptMessageBytes', 'bytes'],
  'messages of a page of a list': ['server/domain/branches/commit-views.ts', 'pageBytes', 'bytes'],
  'parents of a commit in a list': ['server/domain/branches/commit-views.ts', 'listedParents', 'count'],
  'paths of a listed tree': ['gitstore/objects/trees.ts', 'maxPathCharacters', 'bytes'],
  'a file as JSON': ['server/domain/branches/contents.ts', 'fileLimit', 'bytes'],
  'a blob by its id': ['gitstore/objects/objects.ts', 'maxBlobBytes', 'bytes'],
  'a commit or a tree that is read': ['gitstore/objects/objects.ts', 'maxOtherBytes', 'bytes'],
  'a file compared line by line': ['gitstore/objects/patches.ts', 'maxTextBytes', 'bytes'],
  'added files in which renames are detected': ['gitstore/objects/patches.ts', 'maxRenames', 'count'],
  'removed files in which renames are detected': ['gitstore/objects/patches.ts', 'maxRenames', 'count'],
  'a patch': ['server/domain/branches/text-diffs.ts', 'maxPatchBytes', 'bytes'],
  'a text for blame': ['server/domain/branches/blame.ts', 'maxBytes', 'bytes'],
  'lines of a text for blame': ['server/domain/branches/blame.ts', 'maxLines', 'count'],
  'a text whose links are listed': ['server/domain/nodes/links.ts', 'maxBytes', 'bytes'],
  'links of a text': ['server/domain/nodes/links.ts', 'maxLinks', 'count'],
  "characters of a text's links": ['server/domain/nodes/links.ts', 'maxCharacters', 'bytes'],
  'time to resolve the links of a text': ['server/domain/nodes/links.ts', 'maxResolvingMs', 'seconds'],
  'lines of a text that are read for links': ['server/domain/nodes/links.ts', 'maxLines', 'count'],
  'files that a text links to, with size, type and pixels': ['server/domain/nodes/links.ts', 'maxFacts', 'count'],
  'beginning of a picture in which its pixels are searched': [
    'server/domain/branches/picture-size.ts',
    'headerBytes',
    'bytes',
  ],
  'a block of a text that is read for links': ['server/domain/nodes/links.ts', 'maxBlock', 'count'],
  'aliases of all nodes among which a link is resolved': ['index/derived/source-paths.ts', 'maxAliases', 'bytes'],
  "items of each list of a pull request's impact": ['server/domain/pulls/impact.ts', 'listedItems', 'count'],
  "ancestors of a node in a pull request's impact": ['server/domain/pulls/impact.ts', 'walkedNodes', 'count'],
  'nodes with titles on a map': ['server/domain/graph/map-drawing.ts', 'mostTitles', 'count'],
  'areas of a map': ['server/domain/graph/map-drawing.ts', 'areas', 'count'],
  'areas of a map without columns': ['server/domain/graph/map-drawing.ts', 'areasAlone', 'count'],
  'Markdown on a page': ['server/pages/text/markdown.ts', 'longestText', 'bytes'],
  'Mermaid diagrams on a page that are drawn': ['server/pages/text/mermaid.ts', 'diagrams', 'count'],
  'source of a Mermaid diagram that is drawn': ['server/pages/text/mermaid.ts', 'source', 'count'],
  'edges of a Mermaid diagram': ['server/pages/client/diagram-frame.ts', 'edges', 'count'],
  'blocks of a text on a page, as tokens of markdown-it': ['server/pages/text/markdown.ts', 'mostBlocks', 'count'],
  'HTML of a text on a page': ['server/pages/text/rendering.ts', 'html', 'count'],
  'headings in the contents of a page': ['server/pages/text/rendering.ts', 'headings', 'count'],
  'embedded nodes on a page': ['server/pages/text/embeds.ts', 'mostCards', 'count'],
  'HTML of an embedded node on a page': ['server/pages/pages/embedding.ts', 'maxHtml', 'bytes'],
  'HTML of embedded nodes on a page, after which no other is shown': [
    'server/pages/pages/embedding.ts',
    'maxAllHtml',
    'bytes',
  ],
  'Markdown of an embedded node on a page': ['server/pages/pages/embedding.ts', 'maxShown', 'bytes'],
  'Markdown of all embedded nodes on a page, before they are cut': [
    'server/pages/pages/embedding.ts',
    'maxParsed',
    'bytes',
  ],
  'links in the text of an embedded node': ['server/pages/pages/embedding.ts', 'maxLinks', 'count'],
  'time to read the links of embedded nodes': ['server/pages/pages/embedding.ts', 'longestMs', 'seconds'],
  'files of a diff on a page': ['server/pages/text/diff.tsx', 'files', 'count'],
  'a text of a diff on a page': ['server/pages/text/diff.tsx', 'longestText', 'count'],
  'all texts of a diff on a page': ['server/pages/text/diff.tsx', 'characters', 'count'],
  'changed lines of a text whose words are compared on a page': ['server/pages/text/word-diff.ts', 'edits', 'count'],
  '`grove mcp`: an answer of the service': ['server/mcp/bounded-answer.ts', 'maxBytes', 'bytes'],
  '`import --to`: an answer of the service': ['server/vault/remote/client.ts', 'maxAnswerBytes', 'bytes'],
  '`import --to`: a page of a list': ['server/vault/remote/answers.ts', 'pageBytes', 'bytes'],
  '`import --to`: names in a list': ['server/vault/remote/answers.ts', 'maxKept', 'bytes'],
  'time for a diff or blame': ['server/domain/branches/large-reads.ts', 'timeoutMs', 'seconds'],
  'time to merge a reviewed change, for a comparison with the current one': [
    'server/domain/consent/same-change.ts',
    'mergeTimeoutMs',
    'seconds',
  ],
  'files of such a change whose lines are compared': [
    'server/domain/consent/alike-changes.ts',
    'maxLineBytes',
    'bytes',
  ],
  'number of these files': ['server/domain/consent/alike-changes.ts', 'maxLineFiles', 'count'],
  'names in trees, and halves of a KiB of files, that a judgement reads of such changes': [
    'server/domain/consent/alike-changes.ts',
    'mostCost',
    'count',
  ],
  'files of such a change of which the target may have taken in some': [
    'server/domain/consent/alike-changes.ts',
    'maxParts',
    'count',
  ],
  'entries in which a change is compared with one in another pull request': [
    'server/domain/consent/alike-changes.ts',
    'entries',
    'count',
  ],
  'such changes that contain the current one and are compared with the target': [
    'server/domain/consent/alike-changes.ts',
    'maxPartial',
    'count',
  ],
  'paths of such a change, in characters': ['server/domain/consent/alike-changes.ts', 'characters', 'count'],
  'time for a history by path, author or time': ['server/domain/branches/path-history.ts', 'timeoutMs', 'seconds'],
  'unread answers of over 1 MiB, and unanswered bodies of over 64 KiB, in a process': [
    'server/http/connection/memory-budget.ts',
    'heldBytes',
    'bytes',
  ],
  'password hashes computed at once': ['server/domain/accounts/passwords.ts', 'running', 'count'],
  'a Git client that sends or reads no byte': ['server/http/connection/slow-client.ts', 'silenceTimeoutMs', 'seconds'],
  'a Git client that sends or reads slowly': ['server/http/connection/slow-client.ts', 'slowBytes', 'bytes'],
}

/** Rows of concurrent work, and the file that has its semaphore. */
const semaphores: Readonly<Record<string, readonly [file: string, name: string]>> = {
  'sending files as `raw`': ['server/domain/branches/raw-files.ts', 'semaphore'],
  exports: ['server/vault/write/requests.ts', 'semaphore'],
  'tables as CSV': ['server/domain/search/node-tables.ts', 'semaphore'],
  'link lists': ['server/domain/nodes/links.ts', 'semaphore'],
  'batches and copies': ['server/domain/nodes/batch-input.ts', 'semaphore'],
  'lists of pull requests below a node': ['server/domain/pulls/org-pulls.ts', 'semaphore'],
  "updates of a pull request's branch, and undoing one": ['server/domain/pulls/branch-updates.ts', 'semaphore'],
  'diffs, blame and filtered histories': ['server/domain/branches/large-reads.ts', 'gitSemaphore'],
  'trees of about 20,000 entries or more': ['server/domain/branches/large-reads.ts', 'treeSemaphore'],
  pages: ['server/http/page-turns.ts', 'pageReads'],
  'renderings of texts for pages': ['server/http/page-turns.ts', 'renderings'],
  'searches and suggestions': ['server/domain/search/queue.ts', 'semaphore'],
  'searches of a branch or past state': ['server/domain/search/in-view.ts', 'semaphore'],
  'graphs and maps': ['server/domain/graph/graph.ts', 'semaphore'],
}

describe('spec/limits.md', () => {
  let stated: ReadonlyMap<string, readonly string[]>
  let tables: readonly (readonly string[])[]
  const { grove, ann } = useWorld({ ann: 'owner' }, { rateLimit: true })

  before(async () => {
    tables = tableRows(await readFile('spec/limits.md', 'utf8'))
    stated = new Map(tables.map(([name = '', ...cells]) => [name, cells]))
  })

  const limitOf = (row: string) => stated.get(row)?.[0] ?? `${row} is not in the tables`

  it('has four tables of limits, each row with a limit of its own', async () => {
    const headings = (await readFile('spec/limits.md', 'utf8')).match(/^## .*$/gm)
    expect(headings).to.deep.equal([
      '## What you can store',
      '## What a request may contain',
      '## What an answer contains',
      '## Concurrency and rate limits',
    ])
    const names = tables.filter(([name = '']) => !name.startsWith('failed sign-in')).map(([name]) => name)
    expect(names.filter((name, at) => names.indexOf(name) !== at)).to.deep.equal([])
  })

  it('states the limits of the API description', () => {
    for (const [row, limit] of Object.entries(described)) expect(limitOf(row), row).to.equal(limit)
    const { minLength, maxLength } = schemas.Password
    expect(limitOf('a password')).to.equal(
      `${minLength}–${maxLength} characters, not one of the ${grouped(10_000)} most common`,
    )
  })

  it('states the constants of the code', async () => {
    for (const [row, [file, name, unit]] of Object.entries(coded)) {
      const value = await constantOf(file, name)
      const shown = { bytes: inBytes, count: grouped, seconds: inSeconds }[unit](value)
      expect(limitOf(row), `${row}: ${name} of ${file}`).to.match(
        new RegExp(`^(the (first |latest )?)?${shown}(?!\\d|,\\d)`),
      )
    }
  })

  it('states how much work of each kind runs and waits', async () => {
    for (const [row, [file, name]] of Object.entries(semaphores))
      expect(stated.get(row), `${row}: ${file}`).to.deep.equal(await sharesOf(file, name))
  })

  it.deep('states the limits at which the service refuses a body, a batch and a token', async () => {
    const status = async (body: string) => (await ann.post(`/orgs/${ann.org}/nodes`, body)).status
    const mebibytes = Number(/^(\d+) MiB$/.exec(limitOf('a body'))?.[1])
    expect(await status(`{"title": "${'x'.repeat(mebibytes * 2 ** 20)}"}`)).to.equal(413)
    const problemOf = async (path: string, body: unknown) => (await ann.post(path, body)).body.detail?.[0]
    const nested = (levels: number) => `{"properties": ${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    const levels = numberIn(limitOf('levels of objects and arrays in a body'))
    expect(await problemOf(`/orgs/${ann.org}/nodes`, nested(levels))).to.not.include({ type: 'json_invalid' })
    expect(await problemOf(`/orgs/${ann.org}/nodes`, nested(levels + 1))).to.include({ type: 'json_invalid' })
    const containers = numberIn(limitOf('objects and arrays in a body'))
    const many = `{"properties": [${'{},'.repeat(containers)}{}]}`
    expect(await problemOf(`/orgs/${ann.org}/nodes`, many)).to.include({ type: 'json_invalid' })
    const entries = numberIn(limitOf('parents, connections and files of all nodes in a batch'))
    const each = numberIn(limitOf('files of a node in a batch'))
    const files = Array.from({ length: each }, (_, at) => ({ path: `${at}`, content: '' }))
    const nodes = Array.from({ length: Math.ceil(entries / each) + 1 }, () => ({ title: 'x', files }))
    expect(await problemOf(`/orgs/${ann.org}/nodes/batch`, { nodes })).to.deep.include({
      type: 'too_long',
      ctx: { max_length: entries },
    })
    const most = numberIn(limitOf('personal access tokens of a user, including expired ones'))
    for (let made = 0; made <= most; made++) {
      const { status, body } = await ann.post('/auth/tokens', { name: 'x', access: 'read' })
      expect([status, body.code]).to.deep.equal(made < most ? [201, undefined] : [409, 'too_many_tokens'])
    }
  })

  it('states the rate limits that the service counts by and announces', async () => {
    const counted: Limit[] = []
    limitedSignIns((_, limit) => {
      counted.push(limit)
      return { take: neverCounted, giveBack: neverCounted, close: neverCounted }
    })
    const rates = (row: string) => tables.filter(([name]) => name === row).map(([, rate, by]) => `${rate} by ${by}`)
    const from = (place: string) => `failed sign-in from an address that ${place}`
    const [address, known, strange, inADay] = counted.map(({ quota, windowSeconds }) => perTime(quota, windowSeconds))
    expect(rates(from('is new to the account'))).to.deep.equal([
      `${strange} by account`,
      `${inADay} by account`,
      `${address} by address`,
    ])
    expect(rates(from('the account knows'))).to.deep.equal([`${known} by account and address`])
    const announced = async (path: string, body?: object) => {
      const { headers } = await (body ? client(grove).post(path, body) : client(grove).get(path))
      const [, name, quota, seconds] = /^"(\w+)";q=(\d+);w=(\d+)$/.exec(headers['ratelimit-policy'] ?? '') ?? []
      return `${name}: ${perTime(Number(quota), Number(seconds))}`
    }
    const somebody = { email: 'somebody@example.org', password: 'not a password' }
    const anonymous = `default: ${rates('everything else without a valid token')[0]}`
    expect(`signup: ${rates('sign-up')[0]}`).to.equal(`${await announced('/auth/signup', somebody)} by address`)
    const forgotten = await announced('/auth/password/forgot', { email: 'somebody@example.org' })
    expect(`reset: ${rates('asking for a new password by mail')[0]}`).to.equal(`${forgotten} by address`)
    const mailed: Limit[] = []
    limitedMail((_, limit) => {
      mailed.push(limit)
      return { take: neverCounted, giveBack: neverCounted, close: neverCounted }
    })
    const [hour, day, confirmHour, confirmDay, invitations, all] = mailed.map(({ quota, windowSeconds }) =>
      perTime(quota, windowSeconds),
    )
    expect(rates('mails with a link for a new password')).to.deep.equal([`${hour}, ${day} by mailbox`])
    expect(rates('mails to confirm an address')).to.deep.equal([`${confirmHour}, ${confirmDay} by mailbox`])
    expect(rates('mails with an invitation')).to.deep.equal([`${invitations} by user`])
    expect(rates('mails of all kinds')).to.deep.equal([`${all} by service`])
    expect(anonymous).to.equal(`${await announced('/auth/login', somebody)} by address`)
    expect(anonymous).to.equal(`${await announced('/public/orgs/nobody/graph')} by address`)
    const { headers } = await ann.get('/auth/me')
    const quota = Number(/;q=(\d+);w=60$/.exec(headers['ratelimit-policy'] ?? '')?.[1])
    expect(rates('everything else with a valid token')).to.deep.equal([`${perTime(quota, 60)} by user`])
  })
})

function neverCounted(): never {
  throw new Error('nothing is counted here')
}

/** The rows of all tables, without their heads. */
function tableRows(markdown: string): string[][] {
  const all = markdown.match(/^\|.*\|$/gm) ?? []
  return all
    .filter((line, at) => !line.startsWith('|---') && !all[at + 1]?.startsWith('|---'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
}

/** The value of `name = …` or of a property `name: …`, an expression of numbers. */
async function constantOf(file: string, name: string): Promise<number> {
  const source = await readFile(file, 'utf8')
  const [, text = ''] = new RegExp(`\\b${name}(?: =|:) ([\\d_]+(?: \\*\\*? [\\d_]+)*)`).exec(source) ?? []
  if (text === '') throw new Error(`${file} has no number ${name}`)
  const products = text.replaceAll('_', '').split(/ \* /)
  return products.reduce((product, factor) => product * power(factor), 1)
}

function power(text: string): number {
  const [base = 0, exponent = 1] = text.split(' ** ').map(Number)
  return base ** exponent
}

/** The cells of a row of concurrent work, from the limits that the file gives to createCallerSemaphore. */
async function sharesOf(file: string, name: string): Promise<string[]> {
  const source = await readFile(file, 'utf8')
  const [, limits = ''] = new RegExp(`\\b${name} = createCallerSemaphore\\(\\{([\\s\\S]*?)\\n\\}\\)`).exec(source) ?? []
  const amounts = (who: string) =>
    new RegExp(`\\b${who}: \\{ running: (\\d+), waiting: (\\d+) \\}`).exec(limits)?.slice(1)
  const all = amounts('all') ?? []
  const person = amounts('person') ?? []
  const anonymous = amounts('anonymous')
  // Work without a share for anonymous callers is only for users.
  const address = anonymous && (amounts('address') ?? person)
  const wait = /waitTimeoutMs: ([\d_]+)/.exec(limits)?.[1] ?? `${await constantOf(file, 'waitTimeoutMs')}`
  const column = (at: 0 | 1) => [all[at], person[at], address?.[at], anonymous?.[at]].map((amount = '') => amount)
  return [...column(0), ...column(1), inSeconds(Number(wait.replaceAll('_', '')))]
}

interface Range {
  readonly minimum: number
  readonly maximum: number
  readonly default: number
}

function range({ minimum, maximum, default: usual }: Range): string {
  return `${minimum}–${maximum}, ${usual} by default`
}

function perTime(quota: number, seconds: number): string {
  const units: Readonly<Record<number, string>> = { 60: 'minute', 3600: 'hour', 86400: 'day' }
  return `${grouped(quota)} per ${units[seconds]}`
}

function numberIn(text: string): number {
  return Number(/^[\d,]+/.exec(text)?.[0].replaceAll(',', ''))
}

function inSeconds(milliseconds: number): string {
  return `${milliseconds / 1_000} s`
}

function inBytes(bytes: number): string {
  const units = [
    [2 ** 30, 'GiB'],
    [2 ** 20, 'MiB'],
    [2 ** 10, 'KiB'],
  ] as const
  const [size = 1, unit = 'bytes'] = units.find(([size]) => bytes >= size) ?? []
  return `${bytes / size} ${unit}`
}

function grouped(number: number): string {
  return number.toLocaleString('en')
}
