/**
 * The limits that clients meet. spec/limits.template.md and spec/openapi.yaml name them, and `npm run generate` writes
 * their values.
 *
 * A name that ends with `Bytes`, `Ms` or `Units` says its unit: bytes, milliseconds or UTF-16 units. The rest are numbers
 * of things, or of characters of a text. The limits of Git storage and of the index are in gitstore/limits.ts and
 * index/limits.ts.
 */

// Stored content

export const title = 500
export const edgeLabel = 500
export const tags = 100
export const tag = 100
/** A file over REST, and content that is indexed. */
export const fileBytes = 10 * 1_048_576
/** A page of nodes has up to 200 of them. */
export const propertiesBytes = 65_536
/** Every commit reads these files completely. */
export const nodeJsonBytes = 1_048_576
/** Every commit compares them, and every graph in memory holds them. */
export const edges = 10_000
/** A repository from elsewhere may have more, and then gets no new ones. */
export const refs = 10_000
export const messageBytes = 65_536
export const reviewers = 50
export const commentBytes = 16_384
export const suggestionBytes = 65_536
export const entries = 10_000
/** Without those that rules demand. */
export const checks = 50
export const checkName = 100
export const checkDescription = 200
export const checkUrl = 1_000
export const mentions = 20
export const anchorLines = 500
export const quote = 1_000
export const quoteContext = 64
export const displayName = 200
export const orgDescription = 2_000
export const rules = 50
export const ruleBranches = 20
/** The same as of a branch name. */
export const branchPatternBytes = 200
export const approvals = 20
export const ruleChecks = 20
export const orgJsonBytes = 65_536
export const types = 200
export const typeBytes = 65_536
export const typeAliases = 20
export const typeConnections = 50
export const typeTargets = 50
export const typeColumns = 20
export const typeFields = 100
/** A list in a list is also a level. */
export const typeLevels = 4
export const enumValues = 200
export const pattern = 200
/**
 * About one for each character that a match can consume, and for each choice. RE2 then matches 1,000 characters
 * without the slower of its methods.
 */
export const patternStates = 250
/** To compile them takes up to 10 ms. */
export const typePatternStates = 2_000
export const patternText = 1_000
/**
 * Characters of a node's texts, each times the states of its pattern. They take up to 20 ms. One text of 1,000 characters
 * may have the largest pattern, and 16,000 characters may have simple ones.
 */
export const patternWork = 260_000
export const violations = 100
/** Each change rewrites the list of member files, 70 bytes per member. */
export const members = 10_000
export const invitations = 1_000
export const invitationUses = 1_000
export const bots = 50
/** Expired tokens are included. */
export const botTokens = 20
/** Without `[bot]`. */
export const botName = 80
export const webhooks = 20
/** After its other characters are escaped. */
export const webhookUrl = 2_048
export const webhookTypes = 50
export const keptEvents = 1_000_000
export const email = 254
export const password = 256
export const connectedPrograms = 50
/** Expired tokens are included. */
export const tokens = 100
export const identities = 20
export const follows = 1_000
export const readItems = 200

// Requests

export const bodyBytes = 16 * 1_048_576
/** The largest body arrives in time at 150 KB/s. */
export const bodyMs = 120_000
/** A batch of 20,000 edges has some 30,000. 200,000 take 0.1 s to parse, while those that fit in a whole body take 2 s. */
export const jsonContainers = 200_000
/** Deeper JSON overflows the stack of recursive readers. */
export const jsonLevels = 100
export const headersMs = 20_000
export const listed = 200
export const queryBytes = 16_384
export const matches = 50
export const suggestQuery = 500
export const treeQuery = 200
export const suggestions = 50
export const backlinks = 50
export const changes = 1_000
export const reviewComments = 100
export const appliedSuggestions = 100
export const batchNodes = 1_000
export const batchParents = 1_000
export const batchConnections = 1_000
export const batchFiles = 1_000
/** Each is an object and a row, and needs more of the graph. */
export const batchEntries = 20_000
/** One transaction of refs moves all of them, and one of SQL writes their rows. Other writers wait for both. */
export const changeSetItems = 50
/** Added and removed edges and tags of a change set. Other writers of the index wait for their rows. */
export const changeSetEdges = 2_000
export const openChangeSets = 1_000
/** A user has so many in an organisation. */
export const drafts = 100
export const draftBytes = 1_048_576
export const draftDays = 90
/** The fields of the editor have the same limits. */
export const draftMessage = 10_000
export const draftForm = 262_144
/** Open change sets of one user in an organisation. */
export const ownChangeSets = 100
/** A user's open drafts of change sets that an organisation lists. */
export const draftsShown = 10
/** New pages in the open change sets of one user. */
export const proposedPages = 200
/** Each takes 1 ms of CPU time. It takes 25 ms if both sides changed the same file. */
export const rebasedCommits = 250
export const erasedCommits = 20_000
export const listedErasures = 1_000
export const viewNodes = 200
export const viewBytes = 16 * 1_048_576
/** They are left out because they were created later. */
export const viewNewerNodes = 10_000
export const viewNewerCommits = 10_000
export const facets = 5
export const facetValues = 100
/** A larger repository moves in with several pushes. */
export const pushedRefs = 2_000
/** Each is a file of 60 bytes in the ledger. */
export const pushedAuthorCommits = 100_000
export const pushedRefListBytes = 2 ** 22
export const publicFetchBytes = 2 ** 20
export const memberFetchBytes = 2 ** 22
/** A proposal is the largest message. */
export const mcpMessageBytes = 1_048_576
export const mcpMessageMs = 30_000
export const archiveBytes = 256 * 1_048_576
/** With those that are skipped. */
export const archiveEntries = 100_000
export const archiveFiles = 20_000
export const unpackedBytes = 512 * 1_048_576
export const archiveFileBytes = 10 * 1_048_576
export const archivePathBytes = 1_000
export const archiveNameBytes = 255
export const archiveFolders = 64
/** The text has 262,144 UTF-16 units of at most 9 bytes each. */
export const formTextBytes = 2_621_440
/** With hidden files, which a browser without script sends. */
export const formFolderBytes = 1_024 * 1_048_576
export const formFolderFiles = 200_000
/** Longer texts are edited in a clone. */
export const pageText = 262_144
export const pageFileBytes = 10 * 1_048_576
/** A request may have 16 MiB, and base64 adds a third. */
export const pageFilesBytes = 11 * 1_048_576
/** Git's diff.renameLimit is 1,000 files on each side. */
export const importPairs = 1_000_000
/** Items in a batch, changes in a commit, and entries in an item. */
export const importItems = 1_000
export const importEntries = 20_000
/** The service reads up to 16 MiB. */
export const importRequestBytes = 12 * 1_048_576
export const tokenFileBytes = 65_536

// Answers

export const listedImports = 20
export const listedImportItems = 500
export const inboxOrgs = 100
export const inboxPulls = 500
export const problems = 100
export const questionUnits = 2_400
export const embeddedTexts = 64
export const embeddedTextUnits = 2_400
export const questions = 8
/** `EMBEDDINGS_DIMENSIONS` has the same bound. */
export const dimensions = 4_096
export const slug = 60
export const slugTitle = 500
export const listedPropertiesBytes = 65_536
export const treePath = 32
export const listedMessagesBytes = 4 * 1_048_576
export const listedParents = 1_000
/** The response takes five times as much memory. */
export const jsonFileBytes = 16 * 1_048_576
export const patchBytes = 32 * 1_048_576
export const hunkEntities = 10_000
export const hunkLines = 20_000
export const entityLines = 3_000
export const hunkBytes = 8 * 1_048_576
export const entityBytes = 1_048_576
export const blameBytes = 1_048_576
export const blameLines = 20_000
export const linkedTextBytes = 524_288
export const links = 10_000
/** Approximate. One definition may serve many references. */
export const linkCharacters = 4_194_304
export const linksMs = 10_000
/** Their blocks are found in one turn, in at most 0.3 s. */
export const linkedTextLines = 20_000
export const linkFacts = 500
/** A paragraph, a cell or a piece of HTML. Each is read at once, in at most 0.15 s. */
export const linkBlockUnits = 32_768
export const linkSources = 10_000
export const linkFiles = 10_000
/** Only a JPEG with very long metadata needs more. */
export const pictureHeadBytes = 65_536
export const sameEntries = 20_000
export const samePathCharacters = 1_000_000
export const sameLineBytes = 524_288
export const sameLineFiles = 200
/**
 * Its unit is a name in a tree, or half a KiB of a file. Each takes about 10 µs. The oldest changes beyond are not
 * compared.
 */
export const sameCost = 100_000
/** Files that are compared one by one. Needed if the target took in some. */
export const sameParts = 100
export const samePartial = 20
export const impactItems = 1_000
export const impactAncestors = 10_000
export const mapTitles = 20_000
/** Browsers draw so many nodes. The page of a larger map lists its parts. */
export const mapNodes = 100_000
/** A larger graph is only packed. 3,000 nodes take about as long as packing 100,000: 1.5 to 1.9 s of CPU time. */
export const mapForceNodes = 2_500
export const mapForceEdges = 30_000
export const mapAreas = 1_000
export const mapAreasWithoutColumns = 100
/** Links of longer texts are not listed. */
export const markdownBytes = 512 * 1024
/** A usual text of 512 KiB has 76,000. */
export const markdownBlocks = 80_000
export const htmlUnits = 1_572_864
export const talkHtmlUnits = 524_288
export const contentsHeadings = 500
export const diagrams = 20
export const diagramUnits = 20_000
export const diagramEdges = 500
export const diagramMs = 20_000
export const embeds = 20
export const embedUnits = 32 * 1024
export const embedsUnits = 512 * 1024
export const embedHtmlUnits = 256 * 1024
export const embedsHtmlUnits = 512 * 1024
export const embedLinks = 1_000
export const embedLinksMs = 2_000
export const diffFiles = 30
export const diffTextUnits = 262_144
export const diffTextsUnits = 524_288
export const diffLines = 5_000
export const wordDiffEdits = 600
export const propertyRows = 100
export const pickedTitles = 20
export const sitemapPart = 2_000
export const sitemap = 50_000
/** A file of 16 MiB in which each character is escaped. */
export const mcpAnswerBytes = 64 * 1_048_576
/** A node with a text of 10 MiB, each character escaped. */
export const importAnswerBytes = 64 * 1_048_576
/** A page of 64 KiB properties is larger, and is requested in parts. */
export const importPageBytes = 4 * 1_048_576
/** UTF-16 units of the strings of one list that are kept. */
export const importNames = 256 * 1_048_576

// Work at the same time

export const diffMs = 10_000
export const sameMergeMs = 10_000
/** A million commits take 11 s of CPU time. */
export const filteredHistoryMs = 30_000
export const streams = 1_000
export const userStreams = 20
export const orgStreams = 200
export const streamEvents = 100
export const streamDrainMs = 60_000
export const imports = 4
export const userImports = 2
export const importRunMs = 30 * 60_000
/** A client that must act is too slow without a byte in this time. */
export const silenceMs = 60_000
export const slowBytes = 60 * 1024
/** It applies to large bodies, and to large responses. */
export const heldBytes = 384 * 2 ** 20
export const passwordHashes = 2
