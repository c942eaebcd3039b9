/** Front matter and links for excerpts. A page needs these before it loads the editor's grammar. */

/** Front matter with any content. */
export const roughHead = /^---\n[\s\S]*?\n---\n/

/** Links, also over several lines. `$2` or `$3` has their words. */
export const roughLinks = /!?\[\[([^\]|]*\|)?([^\]]*)\]\]|!?\[([^\]]*)\]\([^)]*\)/g
