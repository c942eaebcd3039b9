/** Front matter and links as an excerpt needs them: a page loads these two before it loads an editor's grammar. */

/** Front matter, whatever it holds. */
export const roughHead = /^---\n[\s\S]*?\n---\n/

/** Links, whose brackets may stand on several lines. `$2` or `$3` are their words. */
export const roughLinks = /!?\[\[([^\]|]*\|)?([^\]]*)\]\]|!?\[([^\]]*)\]\([^)]*\)/g
