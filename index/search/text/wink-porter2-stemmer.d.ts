declare module 'wink-porter2-stemmer' {
  /** The Porter2 stem of one English word, lower case. */
  export default function stem(word: string): string
}
