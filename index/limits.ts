/** The limits of search and of tables that clients meet, as in server/base/limits.ts. */

export const filterText = 2_000
export const filterConditions = 32
export const filterLevels = 4
export const filterValues = 100
/** Operands have no more. */
export const countedCharacters = 1_000
export const sortKeys = 3
export const columns = 64
/** A table drops those that were asked for longest ago. */
export const loadedColumns = 64
export const searchNodes = 500
export const searchTextBytes = 16 * 1_048_576
export const meaningNodes = 100
/** The minimum for each source holds until the total is used up. */
export const hopEdges = 700
export const nodeEdges = 600
/** The best nodes' edges are read first. */
export const connectionEdges = 1_000
export const listedTags = 100_000
export const tagLevels = 8
/** They are ordered by the edges of their nodes. Counting them takes 5 µs each. */
export const suggestedTitles = 100
export const neighbours = 200
export const aliasUnits = 8_388_608
