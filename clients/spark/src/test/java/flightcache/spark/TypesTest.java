package flightcache.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.UnionMode;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TypesTest {
  private static StructType columns(String ddl) {
    return StructType.fromDDL(ddl);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "c BOOLEAN, b TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, x STRING, y BINARY, v VOID",
        "c DECIMAL(5,2), d DECIMAL(38,38), day DATE, t TIMESTAMP, n TIMESTAMP_NTZ, i INTERVAL",
        "c CHAR(4), v VARCHAR(9), u STRING COLLATE UTF8_LCASE, a ARRAY<VARCHAR(3)>",
        "y INTERVAL YEAR, m INTERVAL YEAR TO MONTH, d INTERVAL DAY TO MINUTE, s INTERVAL DAY TO SECOND",
        "t TIME(0), u TIME(6), w TIME(3), v VARIANT, vs ARRAY<VARIANT>",
        "g GEOMETRY(0), h GEOMETRY(4326) NOT NULL, w GEOMETRY(3857), e GEOGRAPHY(4326), a ARRAY<GEOMETRY(3857)>",
        "g GEOMETRY(ANY), e GEOGRAPHY(ANY), s STRUCT<m: MAP<STRING, GEOMETRY(ANY)>>",
        "a INT NOT NULL COMMENT 'one', s STRUCT<x: INT NOT NULL COMMENT 'two', y: MAP<STRING, ARRAY<DECIMAL(9,1)>>>",
        "m MAP<INT, STRUCT<t: TIME(1), c: CHAR(2)>> NOT NULL",
      })
  void everyTypeOfSparkComesBack(String ddl) {
    StructType before = columns(ddl);
    Schema there = Schema.deserializeMessage(java.nio.ByteBuffer.wrap(SparkToArrow.schema("d", before).serializeAsMessage()));
    StructType after = ArrowToSpark.schema(there);
    assertEquals(before, after);
    assertEquals(before.json(), after.json());
  }

  @Test
  void plainTypesHaveNoNotes() {
    for (Field f : SparkToArrow.schema("d", columns("a INT, s STRING, l ARRAY<STRUCT<x: DATE>>, v VARIANT")).getFields()) {
      assertEquals(Map.of(), f.getMetadata());
    }
  }

  @Test
  void aNoteForAnotherTypeIsPassedOver() {
    Field varchar = SparkToArrow.schema("d", columns("c VARCHAR(9)")).getFields().get(0);
    assertEquals("varchar(9)", ArrowToSpark.type(varchar).typeName());
    Field moved = new Field("c", new FieldType(true, new ArrowType.Int(32, true), null, varchar.getMetadata()), null);
    assertEquals(DataTypes.IntegerType, ArrowToSpark.type(moved));
    Map<String, String> broken = new HashMap<>(Map.of(SparkToArrow.TYPE, "{", SparkToArrow.METADATA, "["));
    Field odd = new Field("c", new FieldType(true, ArrowType.Utf8.INSTANCE, null, broken), null);
    assertEquals(new StructType().add("c", DataTypes.StringType), ArrowToSpark.schema(new Schema(List.of(odd))));
  }

  private static Field field(ArrowType type, Field... children) {
    return new Field("c", FieldType.nullable(type), List.of(children));
  }

  @Test
  void whatSparkHasNoTypeFor() {
    Field union = field(new ArrowType.Union(UnionMode.Sparse, new int[0]));
    assertEquals(DataTypes.NullType, ArrowToSpark.type(union));
    assertEquals("a union", ArrowToSpark.refusal(union));
    Field deep = field(new ArrowType.Decimal(76, 50, 256));
    assertEquals("a decimal of scale 50", ArrowToSpark.refusal(deep));
    assertNull(ArrowToSpark.refusal(field(ArrowType.Null.INSTANCE)));

    Field list = field(ArrowType.List.INSTANCE, union);
    StructType wanted = ArrowToSpark.schema(new Schema(List.of(list)));
    FlightcacheException e =
        assertThrows(FlightcacheException.class, () -> ArrowToSpark.checkReadable("sales", Map.of("c", list), wanted));
    assertTrue(e.getMessage().contains("dataset sales: column c[] is a union"), e.getMessage());
  }

  @Test
  void widenings() {
    assertEquals(DataTypes.ShortType, ArrowToSpark.type(field(new ArrowType.Int(8, false))));
    assertEquals(DataTypes.IntegerType, ArrowToSpark.type(field(new ArrowType.Int(16, false))));
    assertEquals(DataTypes.LongType, ArrowToSpark.type(field(new ArrowType.Int(32, false))));
    assertEquals(DataTypes.createDecimalType(20, 0), ArrowToSpark.type(field(new ArrowType.Int(64, false))));
    assertEquals(DataTypes.createDecimalType(38, 3), ArrowToSpark.type(field(new ArrowType.Decimal(76, 3, 256))));
    assertEquals(DataTypes.createDecimalType(12, 0), ArrowToSpark.type(field(new ArrowType.Decimal(9, -3, 128))));
    assertEquals("time(3)", ArrowToSpark.type(field(new ArrowType.Time(TimeUnit.MILLISECOND, 32))).typeName());
  }

  @Test
  void rowsAndDatasetsAreMatchedByName() {
    Schema target = SparkToArrow.schema("d", columns("a INT, b STRING, c ARRAY<INT>"));
    int[] ordinals = DatasetWriteBuilder.ordinals("d", target, columns("C ARRAY<INT>, a INT, b VARCHAR(3)"));
    assertEquals(List.of(1, 2, 0), java.util.Arrays.stream(ordinals).boxed().toList());
    refused(target, "a INT, b STRING", "have no column c");
    refused(target, "a INT, b STRING, c ARRAY<INT>, e INT", "has no column e");
    refused(target, "a BIGINT, b STRING, c ARRAY<INT>", "column a is INT, and BIGINT in the rows; cast it");
    refused(target, "a INT, A INT, b STRING, c ARRAY<INT>", "two columns of the name A");
  }

  private static void refused(Schema target, String rows, String says) {
    FlightcacheException e =
        assertThrows(FlightcacheException.class, () -> DatasetWriteBuilder.ordinals("d", target, columns(rows)));
    assertTrue(e.getMessage().contains(says), e.getMessage());
  }
}
