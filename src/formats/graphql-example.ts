/** What the pages to try queries on begin with. */
export const exampleQuery = `{
  transactions(first: 5, sort: HEIGHT_DESC) {
    pageInfo { hasNextPage }
    edges {
      cursor
      node { id owner { address } tags { name value } block { height } }
    }
  }
}`;
