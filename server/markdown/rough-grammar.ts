/** Front matter and links for excerpts. A page needs these before it loads the editor's grammar. */

/** Front matter with any content. */
export const roughHead = /^---\n[\s\S]*?\n---\n/

/** Links, also over several lines. `$2` or `$3` has their words. */
export const roughLinks = /!?\[\[([^\]|]*\|)?([^\]]*)\]\]|!?\[([^\]]*)\]\([^)]*\)/g

/** Formulas in a line. */
const roughFormulas = /(\$\$?(?! )[^$\n]{1,500}(?<! )\$\$?(?!\d))/g

/** Changes a text, but not its formulas. */
export function aroundFormulas(text: string, change: (part: string) => string): string {
  return text
    .split(roughFormulas)
    .map((part, at) => (at % 2 === 0 ? change(part) : part))
    .join('')
}

/** Comments, kinds of callouts, references to footnotes, tags of HTML and marks of marked text. */
export const roughMarks =
  /%%[\s\S]*?%%|\[![a-z][\w-]*\][+-]?|\[\^[^\]\s]*\]:?|<\/?[a-z][^<>]{0,200}>|\$\$|==(?=\S)|(?<=\S)==/gi
